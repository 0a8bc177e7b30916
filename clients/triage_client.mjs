// SPDX-License-Identifier: MIT
// Speaks to the supervisor of a program that runs under `triage run`; see docs/protocol.md. No dependencies.
//
//   const triage = await Supervisor.connect();
//   const page = (await triage.state()).page ?? 0;
//   await triage.step("fetch", { tool_called: "http_get", tool_input: { page } });
//   await triage.updateState({ page: page + 1 });
//   const receipt = await triage.effect("mail:42", (key) => sendMail(42, key));
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect } from "node:net";

// Thrown by an effect's function if the effect certainly did not happen; it may then be tried
// again.
export class NotDone extends Error {}

// The supervisor answered with an error; `code` is its name, such as "in_doubt".
export class Refused extends Error {
  constructor(code, text) {
    super(`${code}: ${text}`);
    this.code = code;
  }
}

// Why this attempt was made; null in the first attempt of a run.
export function recovery() {
  const path = process.env.TRIAGE_RECOVERY;
  return path ? JSON.parse(readFileSync(path, "utf8")) : null;
}

function refuse(why) {
  throw new Refused("invalid_argument", "a line cannot be read: " + why);
}

// JSON.stringify writes NaN and Infinity as null.
function textOf(value) {
  const text = JSON.stringify(value);
  if (text?.includes("null")) {
    JSON.stringify(value, (_, one) => (typeof one === "number" && !Number.isFinite(one) ? refuse(`${one} is no JSON`) : one));
  }
  return text;
}

// JSON.stringify writes 1e20 as a whole number, but of more than 64 bits, which the supervisor refuses because it would not come back
// as it was. As 1e+20 it does.
function lineOf(message) {
  const text = textOf(message);
  if (!/\d{19}/.test(text)) return text + "\n";
  const mark = randomUUID();
  const tooLarge = (value) => Number.isInteger(value) && (value >= 2 ** 64 || value <= -(2 ** 63));
  const marked = JSON.stringify(message, (_, value) => (tooLarge(value) ? mark + value.toExponential() : value));
  return marked.replaceAll(new RegExp(`"${mark}([^"]*)"`, "g"), "$1") + "\n";
}

// Lines that the supervisor could not read are refused here: its answer would not say which line it means.
function checked(line) {
  if (Buffer.byteLength(line) > 2 ** 24) refuse("it has more than 16 MB");
  let depth = 0;
  let inString = false;
  for (let at = 0; at < line.length; at += 1) { // A regular expression overflows the stack where a string is long.
    const mark = line[at];
    if (mark === "\\") {
      at += 1;
      // JSON.stringify escapes a half of a pair, and nothing else so.
      if (line.startsWith("ud", at) && "89abcdef".includes(line[at + 2])) refuse("half of a surrogate pair is no UTF-8");
    } else if (mark === '"') inString = !inString;
    else if (inString) continue;
    else if (mark === "[" || mark === "{") depth += 1;
    else if (mark === "]" || mark === "}") depth -= 1;
    if (depth > 256) refuse("it is nested deeper than 256 levels");
  }
  return line;
}

// A text that a line can hold.
function told(text) {
  return String(text).slice(0, 100_000).replace(/\p{Surrogate}/gu, "\ufffd");
}

const rest = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// A connection. It keeps the program running only while an answer is due.
export class Supervisor {
  #socket;
  #path;
  #waiting = new Map(); // The pending promise for each id.
  #last = 0;
  #rest = []; // The parts of a line whose end has not come yet.
  #closed = false;

  static async connect(path = process.env.TRIAGE_SOCKET) {
    if (!path) throw new Error("TRIAGE_SOCKET is not set: this works inside `triage run` only");
    for (;;) {
      try {
        return await new Promise((resolve, reject) => {
          const socket = connect(path);
          socket.once("error", reject);
          socket.once("connect", () => resolve(new Supervisor(socket, path)));
        });
      } catch (error) {
        if (error.code !== "EAGAIN") throw error; // Too many connect at once.
      }
      await rest(10);
    }
  }

  constructor(socket, path = process.env.TRIAGE_SOCKET) {
    this.#socket = socket;
    this.#path = path;
    socket.unref();
    socket.setEncoding("utf8");
    socket.on("data", (text) => this.#read(text));
    socket.on("error", () => {});
    socket.on("close", () => {
      const why = this.#closed ? "the connection is closed" : "the supervisor has ended";
      this.#closed = true;
      for (const { reject } of this.#waiting.values()) reject(new Error(why));
      this.#waiting.clear();
    });
  }

  close() {
    this.#closed = true;
    this.#socket.destroy();
  }

  // Each resolves once its content is durable.
  step(action, fields = {}) {
    return this.#ask({ step: { action, ...fields } });
  }
  async state() {
    return (await this.#ask({ get: "state" })).state;
  }
  updateState(keys) {
    return this.#ask({ state: keys });
  }
  usage(fields) {
    return this.#ask({ usage: fields });
  }
  checkpoint(label) {
    return this.#ask({ checkpoint: label });
  }
  // Reports why this program is about to fail. Fields: type (of the failure, or of the exception), reason,
  // http_status.
  fail(text, fields = {}) {
    return this.#ask({ failure: { message: text, ...fields } });
  }
  heartbeat() {
    this.#send({ heartbeat: true });
  }

  // Asks for permission before a step: resolves to null if it is allowed, otherwise to the reason.
  async propose(action, fields = {}) {
    const answer = await this.#ask({ propose_step: { action, ...fields } });
    return answer.allowed ? null : answer.reason;
  }
  // Resolves at that time (seconds since 1970). A long sleep ends this program; its next attempt gets here again.
  sleepUntil(seconds) {
    return this.#ask({ sleep_until: seconds });
  }
  // The value of the signal of that name, which may be null; `missing` if it does not arrive in time. A long wait ends this program, too.
  async wait(name, until, missing = null) {
    const answer = await this.#ask({ wait: { name, until } });
    return answer.came ? (answer.value ?? null) : missing;
  }

  // Calls fn(idempotencyKey) at most once per run, and resolves to its result, also in later attempts. The result must be JSON, and
  // is returned as JSON has it. Of another result a text is kept that says so, and the error is thrown: the effect has happened. An
  // exception of fn leaves the effect in doubt, except NotDone.
  async effect(key, fn, args) {
    if (this.#waiting.size > 0) await this.#ask({ drain: true });
    for (;;) {
      const own = await Supervisor.connect(this.#path);
      try {
        const first = own.#ask({ effect: args === undefined ? { key } : { key, arguments: args } });
        const id = own.#last;
        const answer = await first.catch((error) => {
          if (error.code !== "exhausted") throw error;
        });
        if (answer) return answer.run ? await own.#carryOut(id, key, () => fn(answer.idempotency_key)) : answer.result;
      } finally {
        own.close();
      }
      await rest(100); // On another connection, since the effects under way may need this one for their ends.
    }
  }

  async #carryOut(id, key, act) {
    let returned;
    try {
      returned = await act();
    } catch (error) {
      if (error instanceof NotDone) {
        const withdrawn = this.#answer(id);
        this.#send({ effect_not_done: { key, cause: told(error.message) } });
        await withdrawn.catch(() => {});
      } else {
        await this.#leave();
      }
      throw error;
    }
    let result, line, problem;
    try {
      result = JSON.parse(textOf(returned ?? null));
      line = checked(lineOf({ effect_done: { key, result } }));
    } catch (error) {
      problem = error;
      line = lineOf({ effect_done: { key, result: `the result could not be kept: ${told(error.message)}` } });
    }
    const durable = this.#answer(id);
    this.#socket.write(line);
    await durable;
    if (problem) throw problem;
    return result;
  }

  // Ends the connection, and with it its effect, which is in doubt when the supervisor has ended it, too.
  #leave() {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) return resolve();
      this.#socket.ref();
      this.#socket.once("close", resolve);
      this.#socket.setTimeout(5000, () => this.#socket.destroy());
      this.#socket.end();
    });
  }

  async #ask(message) {
    const id = ++this.#last;
    const line = checked(lineOf({ id, ...message }));
    const answer = this.#answer(id);
    this.#socket.write(line);
    return answer;
  }
  #answer(id) {
    if (this.#closed) return Promise.reject(new Error("the connection is closed"));
    this.#socket.ref();
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }
  #send(message) {
    this.#socket.write(lineOf(message));
  }
  #read(text) {
    this.#rest.push(text);
    if (!text.includes("\n")) return;
    const lines = this.#rest.join("").split("\n");
    this.#rest = [lines.pop()];
    for (const line of lines) {
      const answer = JSON.parse(line);
      // A line that could not be read has no id: any of them may have been it.
      const ids = answer.id === null ? [...this.#waiting.keys()] : [answer.id];
      for (const id of ids) {
        const waiting = this.#waiting.get(id);
        this.#waiting.delete(id);
        if (answer.ok) waiting?.resolve(answer);
        else waiting?.reject(new Refused(answer.code, answer.error));
      }
    }
    if (this.#waiting.size === 0) this.#socket.unref();
  }
}

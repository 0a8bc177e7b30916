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

// JSON.stringify writes 1e20 as a whole number, but of more than 64 bits, which the supervisor refuses because it would not come back
// as it was. As 1e+20 it does.
function lineOf(message) {
  const text = JSON.stringify(message);
  if (!/\d{19}/.test(text)) return text + "\n";
  const mark = randomUUID();
  const tooLarge = (value) => Number.isInteger(value) && (value >= 2 ** 64 || value <= -(2 ** 63));
  const marked = JSON.stringify(message, (_, value) => (tooLarge(value) ? mark + value.toExponential() : value));
  return marked.replaceAll(new RegExp(`"${mark}([^"]*)"`, "g"), "$1") + "\n";
}

// A connection. It keeps the program running only while an answer is due.
export class Supervisor {
  #socket;
  #path;
  #waiting = new Map(); // The pending promise for each id.
  #last = 0;
  #rest = "";
  #closed = false;

  static connect(path = process.env.TRIAGE_SOCKET) {
    if (!path) throw new Error("TRIAGE_SOCKET is not set: this works inside `triage run` only");
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once("error", reject);
      socket.once("connect", () => resolve(new Supervisor(socket, path)));
    });
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
  // The value of the signal of that name; null if it does not arrive in time. A long wait ends this program, too.
  async wait(name, until) {
    return (await this.#ask({ wait: { name, until } })).value ?? null;
  }

  // Calls fn(idempotencyKey) at most once per run, and resolves to its result, also in later attempts. The result must be JSON, and
  // is returned as JSON has it. An exception leaves the effect in doubt, except NotDone.
  async effect(key, fn, args) {
    if (this.#waiting.size > 0) await this.#ask({ drain: true });
    const own = await Supervisor.connect(this.#path);
    try {
      return await own.#carryOut(key, fn, args);
    } finally {
      own.close();
    }
  }

  async #carryOut(key, fn, args) {
    const first = this.#ask({ effect: args === undefined ? { key } : { key, arguments: args } });
    const id = this.#last;
    const answer = await first;
    if (!answer.run) return answer.result;
    let result;
    try {
      result = JSON.parse(JSON.stringify((await fn(answer.idempotency_key)) ?? null));
    } catch (error) {
      if (error instanceof NotDone) {
        const withdrawn = this.#answer(id);
        this.#send({ effect_not_done: { key, cause: error.message } });
        await withdrawn.catch(() => {});
      } else {
        await this.#leave();
      }
      throw error;
    }
    const durable = this.#answer(id);
    this.#send({ effect_done: { key, result } });
    await durable;
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
    const line = lineOf({ id, ...message });
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
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
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

// SPDX-License-Identifier: MIT
// Speaks to the supervisor of a program that runs under `triage run`; see docs/protocol.md. No dependencies.
//
//   const triage = await Supervisor.connect();
//   const page = (await triage.state()).page ?? 0;
//   await triage.step("fetch", { tool_called: "http_get", tool_input: { page } });
//   await triage.updateState({ page: page + 1 });
//   const receipt = await triage.effect("mail:42", (key) => sendMail(42, key));
//   triage.close();
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

export class Supervisor {
  #socket;
  #waiting = new Map(); // The pending promise for each id.
  #last = 0;
  #rest = "";

  static connect(path = process.env.TRIAGE_SOCKET) {
    if (!path) throw new Error("TRIAGE_SOCKET is not set: this works inside `triage run` only");
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once("error", reject);
      socket.once("connect", () => resolve(new Supervisor(socket)));
    });
  }

  constructor(socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (text) => this.#read(text));
    socket.on("error", () => {});
    socket.on("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the supervisor has ended"));
      this.#waiting.clear();
    });
  }

  close() {
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
  // Reports why this program is about to fail. Fields: http_status, type (of the exception).
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

  // Calls fn(idempotencyKey) at most once per run, and resolves to its result, also in later attempts. The result must be JSON.
  // An exception leaves the effect in doubt, except NotDone.
  async effect(key, fn, args) {
    const id = ++this.#last;
    const first = this.#answer(id);
    this.#send({ id, effect: args === undefined ? { key } : { key, arguments: args } });
    const answer = await first;
    if (!answer.run) return answer.result;
    let result;
    try {
      result = (await fn(answer.idempotency_key)) ?? null;
    } catch (error) {
      if (error instanceof NotDone) {
        const withdrawn = this.#answer(id);
        this.#send({ effect_not_done: { key, cause: error.message } });
        await withdrawn.catch(() => {});
      } else {
        this.close(); // The effect is in doubt; closing tells the supervisor so.
      }
      throw error;
    }
    const durable = this.#answer(id);
    this.#send({ effect_done: { key, result } });
    await durable;
    return result;
  }

  #ask(message) {
    const id = ++this.#last;
    const answer = this.#answer(id);
    this.#send({ id, ...message });
    return answer;
  }
  #answer(id) {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }
  #send(message) {
    this.#socket.write(JSON.stringify(message) + "\n");
  }
  #read(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const answer = JSON.parse(line);
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.ok) waiting?.resolve(answer);
      else waiting?.reject(new Refused(answer.code, answer.error));
    }
  }
}

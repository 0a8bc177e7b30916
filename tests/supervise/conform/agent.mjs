// SPDX-License-Identifier: MIT
// The client for Node under clients/conform.py.
import { NotDone, Supervisor } from "../../../clients/triage_client.mjs";

const word = process.argv[2];
const triage = await Supervisor.connect();
if (word === "step" || word === "refused") await triage.step("fetch", { tool_input: { page: 3 } });
if (word === "state") await triage.updateState({ page: (await triage.state()).page + 1 });
if (word === "effect") console.log(await triage.effect("mail:1", () => "receipt"));
if (word === "not_done") {
  await triage.effect("mail:1", () => {
    throw new NotDone("nobody there");
  });
}
if (word === "label") await triage.checkpoint("planned");
if (word === "usage") await triage.usage({ input_tokens: 5, output_tokens: 2 });
if (word === "beat") triage.heartbeat();
if (word === "allowed" || word === "denied") console.log((await triage.propose("delete")) ?? "allowed");
if (word === "sleep") await triage.sleepUntil(4102444800);
if (word === "wait") console.log(await triage.wait("approved", 4102444800));
if (word === "failure") {
  await triage.fail("HTTP 503", { status: 503 });
  process.exit(1);
}
triage.close();

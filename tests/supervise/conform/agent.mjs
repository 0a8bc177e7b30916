// SPDX-License-Identifier: MIT
// What clients/conform.py asks of a client, done with the client for Node.
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
if (word === "failure") {
  await triage.fail("HTTP 503", { status: 503 });
  process.exit(1);
}
triage.close();

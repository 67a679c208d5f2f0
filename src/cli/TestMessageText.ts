import { zoneLineOf } from "../delivery/dkim/DkimKey.ts"
import type { TestMessageReport } from "../api/deliveries/DeliverabilityApi.ts"

const marks = { ok: "ok      ", missing: "missing ", wrong: "wrong   ", unknown: "unknown " } as const

/** The text about a test message: the reply of the mail server, and a line for each finding. */
export const testMessageText = ({ detail, findings, ok }: TestMessageReport): string =>
  [
    `${ok ? "The test succeeded" : "The test failed"}: ${detail}`,
    ...findings.flatMap(({ check, detail, record, status }) => [
      `${marks[status]} ${check}: ${detail}`,
      ...(record === null ? [] : [`          ${zoneLineOf(record)}`]),
    ]),
  ].join("\n")

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mailSettings } from "../mailing/mailNodes.ts"
import { onServer } from "../support/onServer.ts"
import { read } from "../support/platformServers/MimeReader.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { scopedProcess, startProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

describe("a node killed between the acceptance of a mail and its recording", () => {
  it.live(
    "loses no mail: another node sends it with the same Message-ID after the lease has ended",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        // The server takes the first message and never says so.
        const server = yield* Effect.acquireRelease(
          Effect.promise(() => startSmtp({ faults: [{ at: "data", hang: true }] })),
          ({ close }) => Effect.promise(close),
        )
        const settings = { ...env, ...mailSettings(server), LOG_LEVEL: "Error" }
        const first = yield* Effect.promise(() => startProcess(settings))
        const invite = (node: typeof first, email: string) =>
          node.manage("POST", "/organizations/acme/invitations", { email, role: "viewer" })
        yield* Effect.promise(async () => {
          await first.manage("POST", "/organizations", { slug: "acme", name: "Acme" })
          const { body } = await invite(first, "ann@example.com")
          assert.isTrue(body.mailed)
          await server.until(() => server.mails.length === 1)
          first.kill("SIGKILL")
          await first.ended
        })
        const second = yield* scopedProcess(settings)
        yield* Effect.promise(async () => {
          // A later mail is sent at once, so the node has looked, and has left the held one alone.
          await invite(second, "ben@example.com")
          await server.until(() => server.mails.length === 2)
          assert.deepStrictEqual(server.mails.map(({ to }) => to[0]), ["ann@example.com", "ben@example.com"])
          // The lease ends.
          await onServer(env["DATABASE_URL"]!, "UPDATE service_mails SET due_at = now()")
          await server.until(() => server.mails.length === 3)
          const [before, , after] = server.mails.map(({ raw, to }) => ({ to, id: read(raw).headers.get("message-id") }))
          assert.deepStrictEqual(after, before)
        })
      })),
    180_000,
  )
})

import { Effect } from "effect"
import { type SinkMessage, SinkMessages, type SinkSummary } from "../../delivery/sandbox/SinkMessages.ts"
import { DeliveryNotFound } from "../../domain/Errors.ts"
import { managed } from "../http/Managed.ts"

const summary = ({ isTest, sender, ...message }: SinkSummary) => ({ ...message, test: isTest, from: sender })

const whole = ({ plain, ...message }: SinkMessage) => ({ ...message, ...summary(message), text: plain })

/** Serves `SandboxGroup`. */
export const layer = managed(
  "sandbox",
  Effect.gen(function* () {
    const messages = yield* SinkMessages
    return {
      listSinkMessages: ({ org }) => Effect.map(messages.list(org), (all) => ({ messages: all.map(summary) })),
      getSinkMessage: ({ org, params }) =>
        Effect.flatMap(
          messages.get(org, params.message),
          (found) =>
            found === undefined
              ? new DeliveryNotFound({ id: params.message.slice(0, 100) })
              : Effect.succeed(whole(found)),
        ),
      clearSinkMessages: ({ org }) => Effect.map(messages.clear(org), (removed) => ({ removed })),
    }
  }),
)

import { Cause, Clock, Context, Effect, Exit, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { mailBacklog } from "../mail/MailQueue.ts"
import { testMailServer } from "../mailing/ServiceMail.ts"
import { operatorRefusals } from "../service/OperatorRefusals.ts"
import { Settings, SettingsFaulty } from "../settings/Settings.ts"
import { schemaVersion } from "../store/Migrations.ts"
import { Store } from "../store/Store.ts"
import * as StoreFromSettings from "../store/StoreFromSettings.ts"
import {
  about,
  clockDiagnosis,
  mailBacklogDiagnoses,
  mailServerDiagnosis,
  replicaDiagnosis,
  schemaDiagnosis,
} from "./DoctorChecks.ts"
import { messageOf, orFault } from "./Report.ts"

// Checks of the settings and the database of this machine. They load the store, which checks of a service do not need.

/** The settings of this process, undefined if they have faults, with a diagnosis of each fault. */
const checkSettings = Effect.gen(function* () {
  const built = yield* Effect.exit(
    Layer.build(Settings.layer).pipe(
      Effect.map((context) => Context.get(context, Settings)),
      Effect.tap(operatorRefusals),
    ),
  )
  if (Exit.isSuccess(built)) {
    return { settings: built.value, found: [about("configuration").ok("All settings are valid.")] }
  }
  const error = Cause.squash(built.cause)
  const faults = error instanceof SettingsFaulty ? error.faults : [yield* messageOf(error)]
  return {
    settings: undefined,
    found: faults.map((text) =>
      about("configuration").fault(text, "Correct the environment variable, then start the service again.")
    ),
  }
})

/** Checks the replica of the settings. Stores a mark with the primary. */
const checkReplica = ({ address, lag }: NonNullable<Store["Service"]["replica"]>) =>
  Effect.map(
    Effect.catchTag(lag, "ReplicaNotRead", Effect.succeed),
    (lag) => replicaDiagnosis(address, lag),
  )

/** Checks the database of the settings. It is not migrated. */
const checkStore = (settings: Settings["Service"]) =>
  Effect.gen(function* () {
    const { address, replica } = yield* Store
    const sql = yield* SqlClient.SqlClient
    const version = yield* schemaVersion
    const before = yield* Clock.currentTimeMillis
    const [row] = yield* sql<{ at: Date }>`SELECT clock_timestamp() AS at`
    const after = yield* Clock.currentTimeMillis
    const schema = schemaDiagnosis(address, version)
    return [
      schema,
      clockDiagnosis("the database", row!.at.getTime() - (before + after) / 2),
      ...(schema.status === "ok" ? mailBacklogDiagnoses(yield* mailBacklog(sql)) : []),
      ...(schema.status === "ok" && replica !== undefined ? [yield* checkReplica(replica)] : []),
    ]
  }).pipe(
    Effect.provide(StoreFromSettings.layer.pipe(Layer.provide(Layer.succeed(Settings, settings)))),
    Effect.scoped,
    (checks) =>
      orFault(checks, (text) =>
        about("store").fault(
          text,
          "Check that the database of DATABASE_URL or DATA_DIR runs and accepts connections.",
        )),
  )

/** Checks the mail server of the service, if `MAIL_URL` is set. */
const checkMail = ({ mail }: Settings["Service"]) =>
  Option.isNone(mail)
    ? Effect.succeed([])
    : Effect.map(Effect.scoped(testMailServer(mail.value)), (test) => [mailServerDiagnosis(test)])

/** Checks the settings of this process, and its database and mail server if the settings have no fault. */
export const checkHere = Effect.gen(function* () {
  const { found, settings } = yield* checkSettings
  if (settings === undefined) return { found, dnsServers: undefined }
  return {
    found: [...found, ...yield* checkStore(settings), ...yield* checkMail(settings)],
    dnsServers: settings.dnsServers,
  }
})

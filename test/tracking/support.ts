import { assert, describe } from "@effect/vitest"
import { Clock, type Context, Effect, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { layerJobs, layerRoutes, layerServices } from "../../src/service/App.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { OptOuts } from "../../src/intake/OptOuts.ts"
import { PromptIntake } from "../../src/intake/PromptIntake.ts"
import { BufferFull } from "../../src/store/GroupCommit.ts"
import type { Reactions } from "../../src/tracking/Reactions.ts"
import * as Server from "../../src/api/http/Server.ts"
import { deliveryEnvironment } from "../delivery/support.ts"
import { type Answer, type Json, read } from "../api/harness.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { certificate } from "../support/platformServers/Certificate.ts"
import { type Mail, type SmtpReceiver, startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import {
  adminToken,
  freePort,
  type LocalService,
  localService,
  makeOrganization,
  type Service,
} from "../support/service.ts"
import { type Environment, layerSettings, temporaryEnvironment } from "../support/stores.ts"

// Set-up of tests of tracking: the real service, a real SMTP server, and a clock that tests advance.

/** A clock that runs ahead of the machine's by as much as a test says. */
const movableClock = (ahead: () => number): Clock.Clock => {
  const live = Effect.runSync(Clock.Clock)
  return Object.assign(Object.create(live), {
    currentTimeMillisUnsafe: () => live.currentTimeMillisUnsafe() + ahead(),
    currentTimeMillis: Effect.sync(() => live.currentTimeMillisUnsafe() + ahead()),
  })
}

/** An event in the store. */
export interface StoredEvent {
  readonly event: string
  readonly eventKey: string
  readonly trackingId: string
  readonly automated: boolean
  readonly link: string | null
  readonly status: string
  readonly source: string
}

/** An organization that sends through the SMTP server. */
export interface Shop {
  readonly slug: string
  readonly key: string
  readonly manage: (method: string, path: string, body?: unknown) => Promise<Answer>
  readonly deliver: (body: Json) => Promise<Answer>
  /** Delivers, and answers the message that arrived. */
  readonly send: (email: string, more?: Json) => Promise<Mail>
}

export interface TrackingBench {
  readonly service: LocalService
  readonly smtp: SmtpReceiver
  readonly sql: SqlClient.SqlClient
  readonly run: <A>(effect: Effect.Effect<A, unknown>) => Promise<A>
  /** Records opt-outs on this service, whose answers about stored opt-outs are lost. */
  readonly unanswered: OptOuts["Service"]
  /** Another node on the same store, which has queued nothing. */
  readonly otherNode: () => Promise<Service>
  /** Moves the clock of the service on. */
  readonly pass: (millis: number) => void
  /** Takes in all that has been received. */
  readonly takeIn: () => Promise<void>
  readonly shop: (
    slug: string,
    options?: { readonly template?: Json; readonly organization?: Json; readonly connection?: Json },
  ) => Promise<Shop>
  /** Events of an organization in the store, in the order of their keys. */
  readonly events: (slug: string) => Promise<ReadonlyArray<StoredEvent>>
}

/** A service on a port of its own, and its services behind the routes. */
const startNode = (env: Environment, ahead: () => number) =>
  Effect.gen(function* () {
    const port = yield* Effect.promise(freePort)
    const url = `http://127.0.0.1:${port}`
    const context = yield* Layer.build(
      Server.serve(layerRoutes).pipe(
        Layer.provideMerge(layerJobs),
        Layer.provideMerge(Server.layerServer),
        Layer.provideMerge(layerServices),
        Layer.provide(
          layerSettings({
            PORT: String(port),
            TRACKING_URL: url,
            ADMIN_TOKEN: adminToken,
            ...deliveryEnvironment,
            ...env,
          }),
        ),
      ),
    ).pipe(Effect.provideService(Clock.Clock, movableClock(ahead)))
    return { context, service: yield* localService(context) }
  }).pipe(Effect.orDie)

/** Opt-outs that are stored, but whose caller learns that this is uncertain. */
const losingAnswers = (context: Context.Context<PromptIntake | Reactions>) =>
  Effect.gen(function* () {
    const { take } = yield* PromptIntake
    return yield* OptOuts.pipe(
      Effect.provide(Layer.fresh(OptOuts.layer)),
      Effect.provideService(PromptIntake, { take: (received) => Effect.andThen(take(received), new BufferFull()) }),
    )
  }).pipe(Effect.provideContext(context))

const start = (environment: Effect.Effect<Environment, never, Scope.Scope>, ahead: () => number) =>
  Effect.gen(function* () {
    const env = yield* environment
    const { context, service } = yield* startNode(env, ahead)
    const scope = yield* Effect.scope
    const smtp = yield* Effect.acquireRelease(
      Effect.promise(() => startSmtp()),
      ({ close }) => Effect.promise(close),
    )
    return {
      service,
      otherNode: Scope.provide(Effect.map(startNode(env, ahead), ({ service }) => service), scope),
      smtp,
      sql: yield* Effect.provideContext(SqlClient.SqlClient, context),
      unanswered: yield* losingAnswers(context),
      intake: yield* Effect.provideContext(Intake, context),
    }
  }).pipe(Effect.orDie)

/** A suite with one service that sends to one SMTP server. */
export const suiteOnTracking = (
  name: string,
  suite: (bench: TrackingBench) => void,
  environment: Effect.Effect<Environment, never, Scope.Scope> = temporaryEnvironment,
) =>
  describe(name, () => {
    let aheadMillis = 0
    let running: Effect.Success<ReturnType<typeof start>>
    aroundTests(start(environment, () => aheadMillis), (started) => running = started)
    const run: TrackingBench["run"] = (effect) => Effect.runPromise(effect)
    suite({
      get service() {
        return running.service
      },
      get smtp() {
        return running.smtp
      },
      get sql() {
        return running.sql
      },
      get unanswered() {
        return running.unanswered
      },
      run,
      otherNode: () => run(running.otherNode),
      pass: (millis) => void (aheadMillis += millis),
      takeIn: () => run(running.intake.drain),
      events: (slug) =>
        run(running.sql<StoredEvent>`
          SELECT e.event, e.event_key, e.tracking_id, e.automated, e.link, e.status, e.source FROM events e
          WHERE e.org_slug = ${slug} ORDER BY e.event, e.event_key`),
      shop: async (slug, { connection = {}, organization = {}, template = {} } = {}) => {
        const { service, smtp } = running
        const key = await makeOrganization(service, slug, ["deliver", "events", "generate"])
        const manage: Shop["manage"] = async (method, path, body) =>
          read(
            await service.request(`/console/api/organizations/${slug}${path}`, {
              method,
              headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
              ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            }),
          )
        const ok = async (method: string, path: string, body: unknown) => {
          const answer = await manage(method, path, body)
          assert.include([200, 201], answer.status, answer.text)
        }
        await ok("PATCH", "", { tracking: { opens: true, clicks: true }, ...organization })
        await ok("POST", "/templates", {
          id: "t",
          name: "T",
          variants: [{
            id: "a",
            vars: { subject: "Sale", body: '<p><a href="https://shop.example/sale">Sale</a></p>' },
            formats: { body: "html" },
          }],
          ...template,
        })
        await ok("PUT", "/connections/main", {
          platform: "smtp",
          settings: {
            host: "127.0.0.1",
            port: smtp.port,
            tls: "starttls",
            ca: certificate,
            from: "news@shop.example",
            ...connection,
          },
        })
        const deliver: Shop["deliver"] = async (body) =>
          read(
            await service.request(`/api/deliver/${slug}`, {
              method: "POST",
              headers: { "x-api-key": key, "content-type": "application/json" },
              body: JSON.stringify({ template_id: "t", ...body }),
            }),
          )
        return {
          slug,
          key,
          manage,
          deliver,
          send: async (email, more = {}) => {
            const found = () => smtp.mails.findLast(({ to }) => to[0] === email)
            const before = found()
            const answer = await deliver({ email, ...more })
            assert.strictEqual(answer.status, 200, answer.text)
            await smtp.until(() => found() !== before)
            return found()!
          },
        }
      },
    })
  })

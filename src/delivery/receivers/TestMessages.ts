import { LocaleTag } from "../../domain/Locale.ts"
import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { domainToASCII } from "node:url"
import type { Sources } from "../../checking/Checks.ts"
import type { NotRendered } from "../../decide/Answer.ts"
import { Previews } from "../../decide/Previews.ts"
import {
  type ChecksBusy,
  type ConnectionNotFound,
  type Fault,
  InvalidInput,
  TemplateNotFound,
  type VariantNotFound,
} from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { lockOrganization } from "../../organizations/Existing.ts"
import { t } from "../../languages/Language.ts"
import { suppressionFor } from "../../suppressions/Suppression.ts"
import { reasonWords, SuppressionReason } from "../../domain/SuppressionReason.ts"
import { renderedFormats } from "../../domain/Template.ts"
import { Suppressions } from "../../suppressions/Suppressions.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { Tracking } from "../../tracking/Tracking.ts"
import type { Connection, Message, SendResult, TestResult } from "../Connection.ts"
import { Connections, type ConnectionSetup } from "../Connections.ts"
import { DkimKeys, senderDomainOf } from "../dkim/DkimKeys.ts"
import { type Composed, validateAddress } from "../../text/Email.ts"
import { DnsRecords, lookUpPolicy } from "./DnsRecords.ts"
import { type Finding, findingsOf } from "./Findings.ts"

/** A test message to send. */
export const TestMessageRequest = Schema.Struct({
  /** The recipient's address. */
  to: Schema.String,
  /** A template whose content is sent. Default: a short text about the test. */
  template_id: Schema.optionalKey(Schema.String),
  /** One of the template's variants. Default: the first active variant by id. */
  copy_id: Schema.optionalKey(Schema.String),
  /** Values for the variant's placeholders. Default: `{}`. */
  fields: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** The locale of the texts. Default: the locale in `fields`, otherwise the default locale of the template. */
  locale: Schema.optionalKey(LocaleTag),
})
export type TestMessageRequest = typeof TestMessageRequest.Type

/** The result of a test message. */
export interface TestMessageResult extends TestResult {
  /** The Message-ID of the sent message, without angle brackets; null if no message was sent. */
  readonly messageId: string | null
  readonly findings: ReadonlyArray<Finding>
}

/** The address is on the suppression list. No message was sent. */
class TestRecipientSuppressed extends Schema.TaggedError<TestRecipientSuppressed>()("TestRecipientSuppressed", {
  reason: SuppressionReason,
  suppressedAt: Schema.Date,
}) {
  override get message() {
    return `The recipient ${reasonWords[this.reason].clause} on ${
      this.suppressedAt.toISOString().slice(0, 10)
    }. No test message ` +
      "was sent. Choose another address, or remove this one from the suppression list."
  }
}

/** Maximum number of test messages of an organization in any hour and in any day. */
export const limits = { hour: 100, day: 300 } as const

/** The organization has sent too many test messages. No message was sent. */
class TooManyTestMessages extends Schema.TaggedError<TooManyTestMessages>()("TooManyTestMessages", {
  retryAfterSeconds: Schema.Int,
}) {
  override get message() {
    const minutes = Math.ceil(this.retryAfterSeconds / 60)
    return `An organization can send ${limits.hour} test messages in an hour and ${limits.day} in a day. No test message ` +
      `was sent. Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}.`
  }
}

/** Timeout of composing and sending one test message. */
const patience = Duration.seconds(35)

const ownContent = (org: string, connection: string): Pick<Message, "formats" | "vars"> => ({
  vars: {
    subject: `Test message of the connection ${connection}`,
    body: `<p>This is a test message of the connection <b>${connection}</b> of the organization <b>${org}</b>.</p>` +
      "<p>An administrator sent it to see what receivers think of its messages. No answer is needed.</p>",
  },
  formats: { subject: "text", body: "html" },
})

const resultOf = (result: SendResult, to: string): TestResult & { readonly messageId: string | null } => {
  switch (result._tag) {
    case "accepted":
      return {
        ok: true,
        detail: t`The mail server accepted a test message to ${to}. Check whether it arrives, and in which folder.`,
        messageId: result.messageId ?? null,
      }
    case "slow-down":
    case "yielded":
    case "retry":
    case "refused":
    case "unfit":
    case "broken":
      return { ok: false, detail: result.reason, messageId: null }
  }
}

interface Attempt {
  readonly result: TestResult & { readonly messageId: string | null }
  readonly mail: Composed | undefined
}

const notSent = (detail: string, mail?: Composed): Attempt => ({ result: { ok: false, detail, messageId: null }, mail })

/** Composes and sends a message. Also returns the composed message if composition succeeded. */
const attemptOf = (connection: Connection, message: Message): Effect.Effect<Attempt> => {
  if (connection.compose === undefined) return Effect.succeed(notSent(t`The platform composes messages itself`))
  return Effect.matchEffect(connection.compose(message), {
    onFailure: ({ reason }) => Effect.succeed(notSent(reason)),
    onSuccess: (mail) =>
      Effect.map(connection.send(message), (result) => ({ result: resultOf(result, message.email), mail })),
  })
}

/** Queries the DNS records that receivers check. */
const makeLookUp = (dns: DnsRecords["Service"], dkimKeys: DkimKeys["Service"]) => {
  const lookUp = Effect.fnUntraced(
    function* (org: OrgSlug, { name, settings }: ConnectionSetup, returnDomain: string) {
      const fromDomain = senderDomainOf(settings)
      const keys = yield* dkimKeys.list(org, name)
      const key = keys.find(({ isSigning }) => isSigning)
      const { dmarc, published, spf } = yield* Effect.all({
        spf: dns.txt(returnDomain),
        dmarc: lookUpPolicy(dns.txt, fromDomain),
        published: key === undefined ? Effect.succeed(undefined) : dkimKeys.check(key),
      }, { concurrency: "unbounded" })
      const signing = key === undefined || published === undefined ? undefined : { key, published }
      return { fromDomain, returnDomain, spf, dmarc, signing, idle: keys.find(({ isSigning }) => !isSigning) }
    },
  )
  return lookUp
}

/**
 * Sends real messages to a chosen address, to show whether a connection works and which requirements of receivers it
 * does not meet. Test messages belong to no delivery and no decision, so the model does not learn from them and results
 * do not count them. They are exempt from the organization's rate limit, but have their own limits.
 */
export class TestMessages extends Context.Service<TestMessages, {
  /**
   * Sends a test message through a connection, even if it is paused or disabled. A failed attempt also counts against
   * the limits. `draft` replaces the stored text of the variant. Fails with `ConnectionNotFound` for an unknown
   * connection, `InvalidInput` with every fault of an invalid input, `TemplateNotFound` for an unknown template,
   * `VariantNotFound` for an unknown variant, `NotRendered` if the variant cannot be rendered, `ChecksBusy` while too
   * many checks are waiting, `TestRecipientSuppressed` if the recipient is suppressed, and `TooManyTestMessages` if a
   * limit is reached.
   */
  readonly send: (
    org: OrgSlug,
    connection: string,
    ask: TestMessageRequest,
    draft?: Sources,
  ) => Effect.Effect<
    TestMessageResult,
    | ConnectionNotFound
    | InvalidInput
    | TemplateNotFound
    | VariantNotFound
    | NotRendered
    | ChecksBusy
    | TestRecipientSuppressed
    | TooManyTestMessages
  >
}>()("parlance/delivery/receivers/TestMessages") {
  static readonly layer = Layer.effect(
    TestMessages,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const connections = yield* Connections
      const dkimKeys = yield* DkimKeys
      const dns = yield* DnsRecords
      const previews = yield* Previews
      const suppressions = yield* Suppressions
      const tracking = yield* Tracking
      const templateCache = yield* TemplateCache

      /** Counts a message before it is sent, or fails with `TooManyTestMessages`. Serialized across all nodes. */
      const reserve = (org: OrgSlug, id: string) =>
        sql.withTransaction(Effect.gen(function* () {
          yield* lockOrganization(sql, org)
          yield* sql`
            DELETE FROM test_messages t WHERE t.org_slug = ${org} AND t.sent_at <= now() - interval '1 day'`
          // Ages in seconds, latest message first.
          const ages = (yield* sql<{ age: number }>`
            SELECT extract(epoch FROM now() - t.sent_at)::float8 AS age FROM test_messages t
            WHERE t.org_slug = ${org} ORDER BY t.sent_at DESC`).map(({ age }) => age)
          const wait = Math.max(
            3_600 - (ages[limits.hour - 1] ?? 3_600),
            86_400 - (ages[limits.day - 1] ?? 86_400),
          )
          if (wait > 0) return yield* new TooManyTestMessages({ retryAfterSeconds: Math.ceil(wait) })
          yield* sql`INSERT INTO test_messages (id, org_slug, sent_at) VALUES (${id}, ${org}, now())`
        })).pipe(Effect.catchTag("SqlError", Effect.die))

      const checkRecipient = Effect.fnUntraced(function* (org: OrgSlug, to: string) {
        const found = suppressionFor(yield* suppressions.find(org, to), false)
        if (found !== undefined) {
          return yield* new TestRecipientSuppressed({ reason: found.reason, suppressedAt: found.suppressedAt })
        }
      })

      const contentOf = Effect.fnUntraced(function* (
        org: OrgSlug,
        connection: string,
        { copy_id, fields = {}, locale, template_id }: TestMessageRequest,
        unsubscribeUrl: string,
        draft: Sources | undefined,
      ): Effect.fn.Return<
        Pick<Message, "copyId" | "formats" | "templateId" | "vars">,
        TemplateNotFound | VariantNotFound | InvalidInput | NotRendered | ChecksBusy
      > {
        if (template_id === undefined) {
          return { ...ownContent(org, connection), templateId: "parlance-test", copyId: "test" }
        }
        const view = templateCache.template(org, template_id)
        if (view === undefined) return yield* new TemplateNotFound({ id: template_id })
        const copyId = copy_id ?? (draft === undefined ? view.variants.find(({ active }) => active)?.id : "draft")
        if (copyId === undefined) {
          return yield* new InvalidInput({
            faults: [{ pointer: "/template_id", detail: "has no active variant. Choose a variant with `copy_id`" }],
          })
        }
        const { vars = {} } = yield* previews.preview(org, template_id, {
          vars: draft?.vars,
          formats: draft?.formats,
          locales: draft?.locales,
          locale,
          copyId: draft === undefined ? copyId : undefined,
          fields: { unsubscribe_url: unsubscribeUrl, ...fields },
          attrs: new Map(),
        })
        const formats = renderedFormats(draft?.formats ?? view.variantsById.get(copyId as never)?.formats ?? {})
        return { templateId: template_id, copyId, vars, formats }
      })

      const messageOf = Effect.fnUntraced(function* (
        org: OrgSlug,
        connection: string,
        ask: TestMessageRequest,
        draft: Sources | undefined,
      ) {
        const id = SecureRandom.uuidV7Unsafe()
        const url = (yield* Effect.orDie(tracking.unsubscribeUrls(org)))(id)
        const content = yield* contentOf(org, connection, ask, url, draft)
        const view = templateCache.template(org, content.templateId)
        const now = clock.currentTimeMillisUnsafe()
        return {
          ...content,
          id,
          org,
          email: ask.to,
          unsubscribe: { url, isListed: view?.listUnsubscribe ?? false },
          isTransactional: view?.ignoresUnsubscribes ?? false,
          attempt: 1,
          queuedAt: now,
          firstAttemptAt: now,
        } satisfies Message
      })

      const lookUp = makeLookUp(dns, dkimKeys)

      const attempt = (org: OrgSlug, name: string, message: Message) =>
        connections.open(org, name).pipe(
          Effect.flatMap((connection) => attemptOf(connection, message)),
          Effect.scoped,
          Effect.timeoutOrElse({
            duration: patience,
            orElse: () => Effect.succeed(notSent(`The mail server did not answer within ${Duration.format(patience)}`)),
          }),
          Effect.catchTag("NotOpened", ({ reason }) => Effect.succeed(notSent(reason))),
        )

      const send = Effect.fn("TestMessages.send")(function* (
        org: OrgSlug,
        connection: string,
        ask: TestMessageRequest,
        draft?: Sources,
      ) {
        const setup = yield* connections.get(org, connection)
        const address = validateAddress(ask.to)
        const faults: ReadonlyArray<Fault> = [
          ...(setup.platform === "smtp" ? [] : [{
            pointer: "connection",
            detail: `is of the platform ${setup.platform}: only SMTP connections send test messages`,
          }]),
          ...(address === undefined ? [] : [{ pointer: "/to", detail: address }]),
          ...(ask.copy_id !== undefined && ask.template_id === undefined
            ? [{ pointer: "/template_id", detail: "is required with `copy_id`" }]
            : []),
        ]
        if (faults.length > 0) return yield* new InvalidInput({ faults })
        yield* checkRecipient(org, ask.to)
        const message = yield* messageOf(org, connection, ask, draft)
        yield* reserve(org, message.id)
        const { mail, result } = yield* attempt(org, connection, message)
        const fromDomain = senderDomainOf(setup.settings)
        const returnPath = mail?.from ?? `a@${fromDomain}`
        const facts = yield* lookUp(org, setup, domainToASCII(returnPath.slice(returnPath.lastIndexOf("@") + 1)))
        const findings = findingsOf({
          ...facts,
          mail,
          isTransactional: message.isTransactional,
          isEncrypted: setup.settings["tls"] !== "none",
        })
        return { ...result, findings } satisfies TestMessageResult
      })

      return TestMessages.of({ send })
    }),
  )
}

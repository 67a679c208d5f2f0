import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { readTrackingSettings, type TrackingSettings } from "../organizations/OrganizationRows.ts"
import { type BounceMailbox, readMailbox, writeMailbox } from "./BounceAddress.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { Settings } from "../settings/Settings.ts"
import { Changes } from "../organizations/Changes.ts"
import { reachedFrom, renderedIds, type SnippetSources } from "../domain/Snippet.ts"
import type { Vars } from "../domain/Template.ts"
import type { TemplateView, VariantView } from "../templates/TemplateCache.ts"
import { targetOf, track, type Tracked } from "./Rewriting.ts"
import { orgTag, readToken, type Token, type TokenKind, writeToken } from "./Token.ts"
import type { HmacKey } from "../text/Hmac.ts"
import { TrackingKey } from "./TrackingKey.ts"

/** Settings of an organization for tracking and the unsubscribe page. */
export interface TrackedOrganization extends TrackingSettings {
  readonly slug: OrgSlug
}

/** A message that Deliver queues. */
export interface MessageTracking {
  /** The value of `{{ unsubscribe_url }}` in the message. */
  readonly unsubscribeUrl: string
  /**
   * Adds tracking to the rendered message, according to its template and organization. `kept` are links that stay
   * unchanged.
   */
  readonly apply: (message: {
    readonly view: TemplateView
    /** The sources of the variables. */
    readonly sources: VariantView["vars"]
    readonly vars: Readonly<Record<string, string>>
    readonly parts: Parts
    readonly kept: ReadonlyArray<unknown>
  }) => Tracked
}

/** Variables that a connection sends as HTML and as plain text. `body` is the HTML part of an e-mail. */
interface Parts {
  readonly html: ReadonlyArray<string>
  readonly text: ReadonlyArray<string>
  readonly body: string | undefined
}

/** Returns the sources of a message: of the variables, and of the snippets that they render. */
const sourcesOf = (vars: Vars, snippets: SnippetSources): ReadonlyArray<string> => {
  const own = Object.values(vars)
  const reached = snippets.size === 0 ? snippets : reachedFrom(snippets, renderedIds(own))
  return reached.size === 0 ? own : [...own, ...[...reached.values()].map(({ text }) => text)]
}

const untouched = (vars: Readonly<Record<string, string>>): Tracked => ({ vars, shared: new Map(), own: [] })

/** Creates and verifies the signed URLs and addresses in messages that lead back to this service. */
export class Tracking extends Context.Service<Tracking, {
  /**
   * Returns the tracking of a new message. Fails with `SqlError` if the key is not in memory and the database does not
   * respond.
   */
  readonly forMessage: (org: OrgSlug, id: string) => Effect.Effect<MessageTracking, SqlError>
  /** Returns the base address of an organization's links and images, without a slash at its end. */
  readonly baseOf: (org: OrgSlug) => string
  /** Returns a function from the id of an organization's message to its unsubscribe link. Fails like `forMessage`. */
  readonly unsubscribeUrls: (org: OrgSlug) => Effect.Effect<(id: string) => string, SqlError>
  /**
   * Returns a function from the id of an organization's message to the local part of its return path. Fails like
   * `forMessage`.
   */
  readonly returnPaths: (org: OrgSlug) => Effect.Effect<(id: string) => string, SqlError>
  /**
   * Returns the local part of the address for complaints about an organization's messages. Fails with `SqlError` if the
   * database does not respond.
   */
  readonly complaintMailbox: (org: OrgSlug) => Effect.Effect<string, SqlError>
  /**
   * Returns the mailbox of a signed local part; undefined for other texts. Fails with `SqlError` if the database does
   * not respond.
   */
  readonly openMailbox: (localPart: string) => Effect.Effect<BounceMailbox | undefined, SqlError>
  /**
   * Returns the content of a signed token; undefined for other texts. Fails with `SqlError` if the database does not
   * respond.
   */
  readonly open: (kind: TokenKind, text: string) => Effect.Effect<Token | undefined, SqlError>
  /**
   * Returns the settings of an organization from memory; undefined for an organization that this node does not know.
   */
  readonly organization: (org: OrgSlug) => TrackedOrganization | undefined
}>()("parlance/tracking/Tracking") {
  static readonly layer = Layer.effect(
    Tracking,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes
      const key = yield* TrackingKey
      const { host, port, publicUrl, trackingUrl } = yield* Settings
      const organizations = new Map<OrgSlug, TrackedOrganization>()
      const byTag = new Map<number, ReadonlyArray<OrgSlug>>()

      const orgsOf = (tag: number): ReadonlyArray<OrgSlug> => byTag.get(tag) ?? []

      yield* changes.subscribe(Effect.fnUntraced(function* (slug) {
        const row = yield* readTrackingSettings(sql, slug)
        if (row === undefined) return
        if (!organizations.has(slug)) byTag.set(orgTag(slug), [...orgsOf(orgTag(slug)), slug])
        organizations.set(slug, { slug, ...row })
      }))

      const installationUrl = Option.getOrElse(
        Option.orElse(trackingUrl, () => publicUrl),
        () => new URL(`http://${host.includes(":") ? `[${host}]` : host}:${port}`),
      )

      const baseOf = (org: OrgSlug): string => {
        const own = organizations.get(org)?.tracking.url
        return (own == null ? installationUrl : new URL(own)).href.replace(/\/+$/, "")
      }

      const forMessage = (org: OrgSlug, id: string) =>
        Effect.map(key.get, ({ signing: secret }): MessageTracking => {
          const base = baseOf(org)
          const token = (kind: TokenKind, link?: Token["link"]) => writeToken(secret, kind, { org, id, link })
          return {
            unsubscribeUrl: `${base}/u/${token("unsubscribe")}`,
            apply: ({ kept, parts, sources, vars, view }) => {
              const { clicks, opens } = view.tracking ?? organizations.get(org)?.tracking ??
                { opens: false, clicks: false }
              if (!clicks && !opens) return untouched(vars)
              return track({
                id,
                vars,
                ...parts,
                sources: sourcesOf(sources, view.org.snippets),
                kept: [
                  ...["u", "c", "o"].map((route) => `${base}/${route}/`),
                  ...kept.flatMap((link) => typeof link === "string" ? targetOf(link) ?? [] : []),
                ],
                clicks,
                opens,
                pixelUrl: () => `${base}/o/${token("open")}.gif`,
                clickUrl: (link) => `${base}/c/${token("click", link)}`,
              })
            },
          }
        })

      const unsubscribeUrls = (org: OrgSlug) =>
        Effect.map(key.get, ({ signing: secret }) => {
          const base = baseOf(org)
          return (id: string) => `${base}/u/${writeToken(secret, "unsubscribe", { org, id, link: undefined })}`
        })

      /** Returns the first value that one of the keys accepts. */
      const firstWith = <A>(read: (secret: HmacKey) => A | undefined) =>
        Effect.map(key.get, ({ accepted }) => {
          for (const secret of accepted) {
            const found = read(secret)
            if (found !== undefined) return found
          }
          return undefined
        })

      const open = (kind: TokenKind, text: string) => firstWith((secret) => readToken(secret, kind, text, orgsOf))

      const returnPaths = (org: OrgSlug) =>
        Effect.map(key.get, ({ signing }) => (id: string) => writeMailbox(signing, { org, delivery: id }))

      const complaintMailbox = (org: OrgSlug) =>
        Effect.map(key.get, ({ signing }) => writeMailbox(signing, { org, delivery: undefined }))

      const openMailbox = (localPart: string) => firstWith((secret) => readMailbox(secret, localPart, orgsOf))

      return Tracking.of({
        baseOf,
        forMessage,
        unsubscribeUrls,
        returnPaths,
        complaintMailbox,
        openMailbox,
        open,
        organization: (org) => organizations.get(org),
      })
    }),
  ).pipe(Layer.provideMerge(TrackingKey.layer))
}

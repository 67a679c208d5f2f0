import { Context, Effect, Layer } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"
import { candidateName } from "../domain/SendNothing.ts"
import type { Notification } from "../accounts/notifications/Notifications.ts"
import { describe, type NotificationWords } from "../accounts/notifications/Words.ts"
import { TemplateIndex, variantKey } from "../templates/TemplateIndex.ts"

/** A notification with its texts. */
export type WordedNotification = Notification & NotificationWords

/** Writes the texts of notifications, with the names of templates and variants. */
export class NotificationTexts extends Context.Service<NotificationTexts, {
  /** Returns the notifications with their texts, in order. `path` is the whole path of the page in the console. */
  readonly of: (
    org: OrgSlug,
    notifications: ReadonlyArray<Notification>,
  ) => Effect.Effect<ReadonlyArray<WordedNotification>>
}>()("parlance/mailing/NotificationTexts") {
  static readonly layer = Layer.effect(
    NotificationTexts,
    Effect.gen(function* () {
      const index = yield* TemplateIndex
      const of = Effect.fn("NotificationTexts.of")(function* (org: OrgSlug, some: ReadonlyArray<Notification>) {
        const ids = some.flatMap(({ data }) => "template_id" in data ? [data.template_id] : [])
        const names = ids.length === 0 ? new Map<string, string>() : yield* index.names(org, [...new Set(ids)])
        const copies = some.flatMap(({ data }) =>
          "template_id" in data && "copy_id" in data && data.copy_id !== null
            ? [{ template: data.template_id, variant: data.copy_id }]
            : []
        )
        const variantNames = copies.length === 0 ? new Map<string, string>() : yield* index.variantNames(org, copies)
        return some.map((one) => {
          const { path, text, title } = describe(one, {
            template: (id) => names.get(id) ?? candidateName(id),
            variant: (template, id) => variantNames.get(variantKey(template, id)) ?? id,
          })
          return { ...one, title, text, path: `/console/o/${org}${path}` }
        })
      })
      return NotificationTexts.of({ of })
    }),
  )
}

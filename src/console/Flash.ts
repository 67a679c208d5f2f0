import { english, translated } from "../languages/Language.ts"
import { counted } from "./Format.ts"

/** Messages after successful actions, by the query parameter `done`. */
export const flashes: Readonly<Record<string, string>> = {
  "account-created": english("The account has been created."),
  "account-removed": english("The account has been removed."),
  "account-saved": english("Your account has been saved."),
  "bodies-replayed": english(
    "The payloads are being read again. Events that were counted before are not counted twice.",
  ),
  "body-replayed": english("The payload is being read again. Events that were counted before are not counted twice."),
  "change-approved": english("The change has been approved. It is live within 5 seconds."),
  "change-proposed": english("The change waits for approval. It is not live yet."),
  "change-rejected": english("The change has been rejected. Nothing has changed."),
  "change-updated": english("The proposed change is up to date with the live template. Look at it again."),
  "change-withdrawn": english("The change has been withdrawn."),
  "comment-added": english("The comment has been added."),
  "comment-changed": english("The comment has been changed."),
  "comment-deleted": english("The comment has been deleted."),
  "comment-opened": english("The comment is open again."),
  "comment-resolved": english("The comment has been resolved."),
  "connection-added": english("The connection has been set up. Test it before it is needed."),
  "connection-default": english("Deliveries now use this connection."),
  "connection-disabled": english("The connection has been disabled."),
  "connection-enabled": english("The connection has been enabled."),
  "connection-paused": english("The connection has been paused. Due messages wait until you resume."),
  "connection-removed": english("The connection has been deleted."),
  "connection-resumed": english("The connection has been resumed."),
  "connection-saved": english("The connection has been saved."),
  "delivery-cancelled": english("The message has been cancelled."),
  "delivery-retried": english("The message has been queued again."),
  "dkim-key-added": english("The key has been created. Publish its DNS record, then switch signing on."),
  "dkim-key-removed": english("The key has been deleted."),
  "dkim-key-signing": english("Messages are signed with this key from now on."),
  "dkim-key-stopped": english("Messages are sent unsigned from now on."),
  "draft-discarded": english("Your draft has been discarded."),
  "draft-saved": english("The draft has been saved. It is not live."),
  "endpoint-disabled": english("The endpoint has been disabled. No events are sent there."),
  "endpoint-enabled": english("The endpoint has been enabled."),
  "endpoint-removed": english("The endpoint has been deleted."),
  "endpoint-saved": english("The endpoint has been saved."),
  "endpoint-tested": english("A test event is on its way. Reload the page in a few seconds to see the response."),
  "event-not-replayed": english("The event was not sent again: it waits for an attempt, or no longer exists."),
  "event-replayed": english("The event is sent again, with the same id."),
  "group-removed": english("The group has been removed. Its members have lost access."),
  "group-saved": english("The group has been saved. Its members get the role when they next sign in."),
  "invitation-withdrawn": english("The invitation has been withdrawn. Its link no longer works."),
  "key-revoked": english("The key has been revoked. It stops working everywhere within 5 seconds."),
  "learning-resumed": english("Learning has been resumed. If it fails three times again, this page shows the reason."),
  "losers-stopped": english("The variants are now inactive. Their traffic goes to the others within 5 seconds."),
  "member-changed": english("The role has been changed."),
  "member-removed": english("The member has been removed."),
  "note-saved": english("The message to reviewers has been saved."),
  "notifications-read": english("Marked as read."),
  "organization-created": english("The organization has been created."),
  "passkey-added": english("The passkey has been added. Your other sessions have been ended."),
  "passkey-removed": english("The passkey has been removed."),
  "passkey-renamed": english("The passkey has been renamed."),
  "password-changed": english("Your password has been changed. Every other session has been ended."),
  "password-removed": english(
    "This account had a password that you may not have chosen, so it was removed and its sessions were ended. To " +
      "sign in with a password again, choose one under Your account.",
  ),
  "preferences-saved": english("Your preferences have been saved."),
  "recovery-code-used": english(
    "You signed in with a recovery code, which no longer works. Your account shows how many are left.",
  ),
  "sandbox-cleared": english("All messages of the sandbox have been removed."),
  "report-ended": english("You get no more reports here."),
  "report-subscribed": english("You get the first report on the next Monday. Send one now to try it."),
  "second-factor-off": english("Your second factor is off."),
  "second-factor-optional": english("Members may sign in without a second factor."),
  "second-factor-required": english("Members who sign in with a password now need a second factor."),
  "second-factor-reset": english("The second factor has been removed. The account is signed out everywhere."),
  "session-ended": english("The session has been ended."),
  "settings-saved": english("The settings have been saved."),
  "form-not-sent": english(
    "You were no longer signed in, so the form was not saved. Sign in, and enter it again on the page that opens.",
  ),
  "sign-in-expired": english("Your sign-in has expired. Enter your e-mail address and password again."),
  "signed-out": english("You have signed out."),
  "bucket-checked": english("The bucket can be written and read."),
  "bucket-removed": english("The bucket has been removed. Objects in it stay."),
  "bucket-running": english("The exports begin within seconds."),
  "image-deleted": english("The image has been deleted."),
  "image-uploaded": english("The image has been uploaded."),
  "snippet-approved": english("The change is live. Messages follow within 5 seconds."),
  "snippet-deleted": english("The snippet has been deleted."),
  "snippet-dismissed": english("The proposed change has been dismissed."),
  "snippet-proposed": english("The change has been proposed. It goes live once somebody else approves it."),
  "snippet-saved": english("The snippet has been saved. Messages follow within 5 seconds."),
  "strings-imported": english("The translations have been imported."),
  "strings-unchanged": english("The file changes nothing."),
  "source-disabled": english("The source has been disabled. Its webhooks are refused."),
  "share-revoked": english("The link no longer works."),
  "source-enabled": english("The source has been enabled."),
  "source-removed": english("The source has been deleted. Received events are kept."),
  "source-saved": english("The source has been saved. Send its webhooks to the address below."),
  "suggestion-discarded": english("The draft has been discarded."),
  "suggestion-kept": english("The draft is a variant now. It is inactive until you activate it."),
  "suppression-added": english("The address has been added. Queued messages to it have been cancelled."),
  "suppression-removed": english("The entry has been removed."),
  "suppressions-imported": english("The addresses have been imported."),
  "template-archived": english("The template has been archived. Requests stop returning it within 5 seconds."),
  "template-created": english("The template has been created. Now add its first variant."),
  "template-deleted": english("The template has been deleted."),
  "template-duplicated": english("The template has been duplicated. Your systems request the copy by its own id."),
  "template-restored": english("The template has been restored. It is served again within 5 seconds."),
  "template-saved": english("The template has been saved."),
  "templates-activated": english("All variants of the chosen templates are active."),
  "templates-archived": english(
    "The chosen templates have been archived. Requests stop returning them within 5 seconds.",
  ),
  "templates-deactivated": english(
    "All variants of the chosen templates are inactive. Requests return no content of them.",
  ),
  "templates-restored": english("The chosen templates have been restored. They are served again within 5 seconds."),
  "templates-tagged": english("The chosen templates have the tag."),
  "templates-untagged": english("The tag has been removed from the chosen templates."),
  "templates-owned": english("The owner of the chosen templates has been changed."),
  "templates-unchanged": english("Nothing to change: the chosen templates are so already."),
  "variant-created": english("The variant has been created."),
  "variant-deleted": english("The variant has been deleted."),
  "variant-duplicated": english("The variant has been duplicated. The copy is inactive."),
  "variant-off": english("The variant is now inactive."),
  "variant-on": english("The variant is now active."),
  "variant-saved": english("The variant has been saved. It is sent within 5 seconds."),
  "variants-restored": english("The change of the variants has been undone."),
  "view-deleted": english("The view has been deleted."),
  "view-saved": english("The view has been saved."),
  "version-restored": english("The version has been restored. It is sent within 5 seconds."),
  "winner-shipped": english("The variant gets all traffic within 5 seconds."),
  "test-group-deleted": english("The test group has been deleted."),
  "tracking-key-created": english("The key has been created. It signs new links in 5 minutes."),
  "tracking-key-removed": english("The key has been removed. Its links end within a minute."),
  "test-group-saved": english("The test group has been saved."),
  welcome: english("Welcome! You are signed in."),
}

/** The message of an action in the query of the page that follows. */
export interface Flash {
  /** A key of `flashes`. */
  readonly done?: string
  /** Numbers of templates that a batch action has changed, and that needed no change. */
  readonly counts?: { readonly changed: number; readonly left: number }
}

/** Adds the message to the address of a page. */
export const withFlash = (to: string, { counts, done }: Flash): string => {
  if (done === undefined) return to
  const numbers = counts === undefined ? "" : `&changed=${counts.changed}&left=${counts.left}`
  return `${to}${to.includes("?") ? "&" : "?"}done=${done}${numbers}`
}

/** The address of a page without the message. */
export const withoutFlash = (path: string, query: URLSearchParams): string => {
  const rest = new URLSearchParams(query)
  for (const name of ["done", "changed", "left"]) rest.delete(name)
  return rest.size === 0 ? path : `${path}?${rest}`
}

/** The numbers of an action on several templates, in sentences. */
const countsOf = (query: URLSearchParams): ReadonlyArray<string> => {
  const [changed, left] = ["changed", "left"].map((name) => query.get(name) ?? "")
  return [changed, left].every((one) => /^\d{1,6}$/.test(one!))
    ? [
      counted(Number(changed), "template has been changed.", "templates have been changed."),
      ...(left === "0"
        ? []
        : [counted(Number(left), "other template needed no change.", "other templates needed no change.")]),
    ]
    : []
}

/** The message after an action, from the query of the page. Undefined without one. */
export const flashOf = (query: URLSearchParams): string | undefined => {
  const done = query.get("done") ?? ""
  return Object.hasOwn(flashes, done) ? [translated(flashes[done]!), ...countsOf(query)].join(" ") : undefined
}

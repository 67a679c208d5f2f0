import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { MailMode, NotificationKind, notificationKinds } from "../../accounts/notifications/Kinds.ts"
import { HttpUrl } from "../../delivery/connections/Entry.ts"
import { described } from "../../domain/described.ts"
import { ReportSubscription } from "../../domain/ReportSubscription.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

// The part of the management API for notifications of members.

const path = { org: Schema.String }

const ofMemberText =
  "E-mail address or account id of the member. Required with the admin token or an API key; a session is about its own account"
const Member = Schema.optionalKey(described(Schema.String, ofMemberText))
const memberQuery = Parameters.described(
  ofMemberText,
  Parameters.text("must be an e-mail address or the id of an account"),
)

/** A notification with its title and text. */
const NotificationResource = Schema.Struct({
  id: Schema.Int,
  kind: NotificationKind,
  title: Schema.String,
  text: Schema.String,
  path: Schema.String.annotate({ description: "Path of the page about it in the console" }),
  data: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "The data of the webhook event of this kind. `comment.mention` has the data of `comment.added`",
  }),
  created_at: Schema.String,
  read_at: Schema.NullOr(Schema.String).annotate({ description: "null: unread" }),
}).annotate({ identifier: "Notification" })

/** Marks notifications as read. */
const ReadBody = Schema.Struct({
  member: Member,
  ids: Schema.optionalKey(
    Schema.Array(Schema.Int).check(Schema.isMinLength(1), Schema.isMaxLength(1000)).annotate({
      description: "Ids of notifications. Absent: all",
    }),
  ),
})

const modes = Object.fromEntries(notificationKinds.map((kind) => [kind, Schema.optionalKey(MailMode)])) as {
  readonly [kind in NotificationKind]: Schema.optionalKey<typeof MailMode>
}

/** A change of preferences. Absent kinds stay unchanged. */
const PreferencesBody = Schema.Struct({ member: Member, mail: Schema.Struct(modes) })

const Preferences = Schema.Struct({
  mail: Schema.Record(NotificationKind, MailMode).annotate({
    description: "When each kind is sent by mail: `immediate`, in a daily `digest` at 08:00, or `off`",
  }),
  mail_server: Schema.Boolean.annotate({ description: "Whether mail is sent at all: `MAIL_URL` is set" }),
}).annotate({ identifier: "NotificationPreferences" })

/** A subscription to the report of a template. */
export const ReportBody = Schema.Struct({
  member: Member,
  url: Schema.optionalKey(
    HttpUrl.annotate({
      description:
        "URL of the incoming webhook of Slack, or of the workflow of Teams. Absent for `mail`. Stored encrypted, and " +
        "never returned",
    }),
  ),
})

const reportPath = {
  ...path,
  template: Schema.String,
  channel: Schema.String.annotate({ description: "`mail`, `slack` or `teams`" }),
}

const ofMember = [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.AccountNotFound, Problems.Forbidden]

/** Endpoints of notifications. */
export class NotificationsGroup extends managementGroup(
  "notifications",
  "Notifications of members",
  {
    listNotifications: reads("viewer", "admin"),
    // The audit log does not record which notifications a member reads.
    readNotifications: reads("viewer", "admin"),
    getNotificationPreferences: reads("viewer", "admin"),
    updateNotificationPreferences: writes("viewer", "notification preferences changed", "admin", { isPrivate: true }),
    listReports: reads("viewer", "admin"),
    putReport: writes("viewer", "report subscribed", "admin", { isPrivate: true }),
    deleteReport: writes("viewer", "report unsubscribed", "admin"),
    sendReport: writes("viewer", "report sent", "admin"),
  },
  HttpApiEndpoint.get("listNotifications", "/organizations/:org/notifications", {
    params: path,
    query: {
      member: memberQuery,
      kind: Parameters.described(`One of ${notificationKinds.join(", ")}`, Parameters.oneOf(notificationKinds)),
      unread: Parameters.described("true: unread ones only", Parameters.flag),
      ...Cursors.cursor("notifications", "before", Parameters.numericPosition()),
      limit: Parameters.limit(200, 50),
    },
    success: Schema.Struct({
      notifications: Schema.Array(NotificationResource),
      unread: Schema.Int.annotate({ description: "Unread notifications, counted up to 100" }),
      ...Cursors.following(Schema.Int),
    }),
    error: ofMember,
  }).annotate(OpenApi.Summary, "Notifications of a member").annotate(
    OpenApi.Description,
    "Newest first. Notifications are kept for 90 days.",
  ),
  HttpApiEndpoint.post("readNotifications", "/organizations/:org/notifications/read", {
    params: path,
    payload: ReadBody,
    success: Schema.Struct({
      read: Schema.Int.annotate({ description: "Notifications that were unread" }),
      unread: Schema.Int.annotate({ description: "Unread notifications, counted up to 100" }),
    }),
    error: [...Problems.ofBody, ...ofMember],
  }).annotate(OpenApi.Summary, "Marks notifications as read"),
  HttpApiEndpoint.get("getNotificationPreferences", "/organizations/:org/notification-preferences", {
    params: path,
    query: { member: memberQuery },
    success: Preferences,
    error: ofMember,
  }).annotate(OpenApi.Summary, "The notifications that a member gets by mail"),
  HttpApiEndpoint.patch("updateNotificationPreferences", "/organizations/:org/notification-preferences", {
    params: path,
    payload: PreferencesBody,
    success: Preferences,
    error: [...Problems.ofBody, ...ofMember],
  }).annotate(OpenApi.Summary, "Changes the notifications that a member gets by mail"),
  HttpApiEndpoint.get("listReports", "/organizations/:org/reports", {
    params: path,
    query: { member: memberQuery },
    success: Schema.Struct({ reports: Schema.Array(ReportSubscription) }),
    error: ofMember,
  }).annotate(OpenApi.Summary, "The reports that a member gets on Mondays"),
  HttpApiEndpoint.put("putReport", "/organizations/:org/templates/:template/reports/:channel", {
    params: reportPath,
    payload: ReportBody,
    success: ReportSubscription,
    error: [
      ...Problems.ofBody,
      ...ofMember,
      Problems.ReportNotFound,
      Problems.TemplateNotFound,
      Problems.Unprocessable,
    ],
  }).annotate(OpenApi.Summary, "Subscribes a member to the report of a template").annotate(
    OpenApi.Description,
    "A report is sent each Monday at 08:00 in the organization's time zone: by `mail`, to an incoming webhook of `slack`, or to " +
      'a workflow of `teams` with the trigger "When a Teams webhook request is received".',
  ),
  HttpApiEndpoint.delete("deleteReport", "/organizations/:org/templates/:template/reports/:channel", {
    params: reportPath,
    query: { member: memberQuery },
    success: HttpApiSchema.NoContent,
    error: [...ofMember, Problems.ReportNotFound],
  }).annotate(OpenApi.Summary, "Ends a member's subscription to the report of a template"),
  HttpApiEndpoint.post("sendReport", "/organizations/:org/templates/:template/reports/:channel/send", {
    params: reportPath,
    payload: Schema.Struct({ member: Member }),
    success: Schema.Struct({
      sent: Schema.Boolean.annotate({ description: "Whether the report arrived, or its mail is queued" }),
      failure: Schema.NullOr(Schema.String).annotate({ description: "Why it did not arrive" }),
    }),
    error: [...Problems.ofBody, ...ofMember, Problems.ReportNotFound],
  }).annotate(OpenApi.Summary, "Sends a report now, in addition to the reports of Mondays"),
) {}

import { Schema } from "effect"
import { t } from "../languages/Language.ts"
import { Variant } from "./Template.ts"

/**
 * A fault in a user's input: its place (a JSON pointer into the body, or the name of a parameter) and a description.
 */
export const Fault = Schema.Struct({ pointer: Schema.String, detail: Schema.String })
export type Fault = typeof Fault.Type

/** The input has faults. Lists every fault. */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  faults: Schema.Array(Fault),
}) {}

/** There is no organization by that id. */
export class OrganizationNotFound
  extends Schema.TaggedError<OrganizationNotFound>()("OrganizationNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no organization ${JSON.stringify(this.id)} here.`
  }
}

/** There is no API key by that id. */
export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()("KeyNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no API key ${JSON.stringify(this.id)} here.`
  }
}

/** There is no key for links by that id. */
export class TrackingKeyNotFound
  extends Schema.TaggedError<TrackingKeyNotFound>()("TrackingKeyNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no tracking key ${JSON.stringify(this.id)}.`
  }
}

/** The key for links signs new links, or is about to. */
export class TrackingKeyInUse extends Schema.TaggedError<TrackingKeyInUse>()("TrackingKeyInUse", {
  id: Schema.String,
  state: Schema.String,
}) {
  override get message() {
    const id = JSON.stringify(this.id)
    return this.state === "waiting"
      ? t`The tracking key ${id} is waiting. It signs new links 5 minutes after it was made: try again then.`
      : t`The tracking key ${id} is ${this.state}. Create another one first, and wait until that one signs.`
  }
}

/** There is no template by that id. */
export class TemplateNotFound
  extends Schema.TaggedError<TemplateNotFound>()("TemplateNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no template ${JSON.stringify(this.id)} here.`
  }
}

/** The template is archived and not served. */
export class TemplateArchived
  extends Schema.TaggedError<TemplateArchived>()("TemplateArchived", { id: Schema.String }) {
  override get message() {
    return t`The template ${JSON.stringify(this.id)} is archived and is not served. Restore it first.`
  }
}

/** There is no variant by that id. */
export class VariantNotFound extends Schema.TaggedError<VariantNotFound>()("VariantNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no variant ${JSON.stringify(this.id)} here.`
  }
}

/** The variant was saved after the version that the change is based on. */
export class VariantChanged extends Schema.TaggedError<VariantChanged>()("VariantChanged", {
  id: Schema.String,
  base: Schema.String,
  current: Variant,
}) {
  override get message() {
    return t`Somebody has saved the variant ${
      JSON.stringify(this.id)
    } since the version of ${this.base} that this change was made from. The version is now that of ${this.current.updated_at}.`
  }
}

/** The author has no draft there. */
export class DraftNotFound extends Schema.TaggedError<DraftNotFound>()("DraftNotFound", {}) {
  override get message() {
    return t`There is no draft of this author here.`
  }
}

/** The stored draft is newer than the draft that the save would replace. */
export class DraftChanged extends Schema.TaggedError<DraftChanged>()("DraftChanged", {}) {
  override get message() {
    return t`The stored draft is newer than the one to be replaced: another window of the author has stored it.`
  }
}

/** The variant has no version by that id. */
export class VersionNotFound extends Schema.TaggedError<VersionNotFound>()("VersionNotFound", { id: Schema.String }) {
  override get message() {
    return t`The variant has no version ${JSON.stringify(this.id)}. The latest 200 versions are kept.`
  }
}

/** The organization has no sample person by that id. */
export class SamplePersonNotFound
  extends Schema.TaggedError<SamplePersonNotFound>()("SamplePersonNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no sample person ${JSON.stringify(this.id)} here.`
  }
}

/** The organization has no test group by that id. */
export class TestGroupNotFound
  extends Schema.TaggedError<TestGroupNotFound>()("TestGroupNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no test group ${JSON.stringify(this.id)} here.`
  }
}

/** The organization has no saved view by that id, or the view belongs to another member. */
export class ViewNotFound extends Schema.TaggedError<ViewNotFound>()("ViewNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no saved view ${JSON.stringify(this.id)} here.`
  }
}

/** The id is taken. */
export class AlreadyExists extends Schema.TaggedError<AlreadyExists>()("AlreadyExists", {
  what: Schema.Literals(["organization", "template", "variant"]),
  id: Schema.String,
}) {
  override get message() {
    const id = JSON.stringify(this.id)
    return this.what === "organization"
      ? t`There is already an organization ${id}. Choose another id, or change the existing one.`
      : this.what === "template"
      ? t`There is already a template ${id}. Choose another id, or change the existing one.`
      : t`There is already a variant ${id}. Choose another id, or change the existing one.`
  }
}

/** The inbox has no body by that id. */
export class InboxEntryNotFound
  extends Schema.TaggedError<InboxEntryNotFound>()("InboxEntryNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no body ${JSON.stringify(this.id)} in this inbox.`
  }
}

/** No erasure of the last 30 days has that id. */
export class ErasureNotFound extends Schema.TaggedError<ErasureNotFound>()("ErasureNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no erasure ${JSON.stringify(this.id)}. Reports of erasures are kept for 30 days.`
  }
}

/** The organization has not set up such a source. */
export class SourceNotFound extends Schema.TaggedError<SourceNotFound>()("SourceNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no webhook source ${JSON.stringify(this.id)} here.`
  }
}

/** The organization has no such connection. */
export class ConnectionNotFound
  extends Schema.TaggedError<ConnectionNotFound>()("ConnectionNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no connection ${JSON.stringify(this.id)} here.`
  }
}

/** The organization has no such webhook endpoint. */
export class EndpointNotFound
  extends Schema.TaggedError<EndpointNotFound>()("EndpointNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no webhook endpoint ${JSON.stringify(this.id)} here.`
  }
}

/** The connection has no DKIM key with this selector. */
export class DkimKeyNotFound extends Schema.TaggedError<DkimKeyNotFound>()("DkimKeyNotFound", { id: Schema.String }) {
  override get message() {
    return t`This connection has no DKIM key with the selector ${JSON.stringify(this.id)}.`
  }
}

/** The organization has no such delivery. */
export class DeliveryNotFound
  extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no delivery ${JSON.stringify(this.id)} here.`
  }
}

/** The state of the delivery does not allow the action. */
export class DeliveryFixed
  extends Schema.TaggedError<DeliveryFixed>()("DeliveryFixed", { id: Schema.String, reason: Schema.String }) {
  override get message() {
    return t`The delivery ${JSON.stringify(this.id)} ${this.reason}`
  }
}

/** There is no bulk action by that id. */
export class BulkActionNotFound
  extends Schema.TaggedError<BulkActionNotFound>()("BulkActionNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no bulk action ${JSON.stringify(this.id)} here. Actions are kept for 90 days.`
  }
}

/** The idempotency key belongs to a bulk action of another kind or with another filter. Nothing was changed. */
export class BulkKeyReused extends Schema.TaggedError<BulkKeyReused>()("BulkKeyReused", { key: Schema.String }) {
  override get message() {
    return t`The Idempotency-Key ${JSON.stringify(this.key)} belongs to another bulk action. Nothing was changed: send
      this request with another key.`
  }
}

/** Templates, previews and mappings cannot be checked at this time. Nothing is known to be wrong with them. */
export class ChecksBusy extends Schema.TaggedError<ChecksBusy>()("ChecksBusy", {
  /** The state of the checking process. Absent if too many checks are queued. */
  reason: Schema.optional(Schema.String),
}) {
  override get message() {
    if (this.reason !== undefined) {
      return t`${this.reason}. Try again in a few seconds. If this persists, the machine is overloaded: see the service's log.`
    }
    return t`Too many templates, previews and mappings are being checked at this time. Try again in a few seconds.`
  }
}

/** The change affects live messages and needs approval first. Nothing has changed yet. */
export class ChangeProposed extends Schema.TaggedError<ChangeProposed>()("ChangeProposed", {
  proposals: Schema.Array(Schema.Struct({ id: Schema.Int, template_id: Schema.String })),
  /** The result that the change would have had. */
  value: Schema.Unknown,
}) {
  override get message() {
    return this.proposals.length === 1
      ? t`The change of the template ${JSON.stringify(this.proposals[0]!.template_id)} waits for approval as proposal ${
        this.proposals[0]!.id
      }.`
      : t`The changes of ${this.proposals.length} templates wait for approval.`
  }
}

/** There is no snippet by that id. */
export class SnippetNotFound extends Schema.TaggedError<SnippetNotFound>()("SnippetNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no snippet ${JSON.stringify(this.id)} here.`
  }
}

/** The snippet is rendered by variants or other snippets, so it cannot be deleted. */
export class SnippetInUse extends Schema.TaggedError<SnippetInUse>()("SnippetInUse", {
  id: Schema.String,
  /** Where it is used, such as `the variant "warm" of the template "welcome"`. */
  places: Schema.Array(Schema.String),
}) {
  override get message() {
    const [first = "", ...more] = this.places
    const places = more.length === 0 ? first : t`${first} and ${more.length} more`
    return t`The snippet ${JSON.stringify(this.id)} is used by ${places}. Remove its tags there first.`
  }
}

/** The snippet was saved after the version from which a change was made. */
export class SnippetChanged extends Schema.TaggedError<SnippetChanged>()("SnippetChanged", { id: Schema.String }) {
  override get message() {
    return t`Somebody has saved the snippet ${
      JSON.stringify(this.id)
    } since you opened it. Open it again, and repeat your change.`
  }
}

/** There is no image by that id. */
export class ImageNotFound extends Schema.TaggedError<ImageNotFound>()("ImageNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no image ${JSON.stringify(this.id)} here.`
  }
}

/** Content shows the image, so only a deletion by force deletes it. */
export class ImageInUse extends Schema.TaggedError<ImageInUse>()("ImageInUse", {
  name: Schema.String,
  /** Where it is used, such as `the variant "warm" of the template "welcome"`. */
  places: Schema.Array(Schema.String),
}) {
  override get message() {
    const shown = this.places.slice(0, 10)
    const more = this.places.length - shown.length
    const places = more > 0 ? t`${shown.join(", ")} and ${more} more` : shown.join(", ")
    return t`The image ${JSON.stringify(this.name)} is used by ${places}. New messages and messages that were sent would
      show a gap. Replace it there first, or delete it with force (\`--force\`, \`?force=true\`).`
  }
}

/** There is no proposed change by that id. */
export class ProposalNotFound
  extends Schema.TaggedError<ProposalNotFound>()("ProposalNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no proposed change ${JSON.stringify(this.id)} here.`
  }
}

/** The state of the proposed change does not allow the action, or the change was edited after it was read. */
export class ProposalConflict extends Schema.TaggedError<ProposalConflict>()("ProposalConflict", {
  reason: Schema.Literals(["closed", "changed", "live_changed"]),
  detail: Schema.String,
}) {
  override get message() {
    return this.detail
  }
}

/** The caller may not do this, such as approve their own proposed change. */
export class NotAllowed extends Schema.TaggedError<NotAllowed>()("NotAllowed", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

/** The template has no valid link to its results by that id. */
export class ShareNotFound extends Schema.TaggedError<ShareNotFound>()("ShareNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no link ${JSON.stringify(this.id)} here.`
  }
}

/** The member does not get this report. */
export class ReportNotFound extends Schema.TaggedError<ReportNotFound>()("ReportNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no subscription to the report ${JSON.stringify(this.id)}.`
  }
}

/** The template has no comment by that id. */
export class CommentNotFound extends Schema.TaggedError<CommentNotFound>()("CommentNotFound", { id: Schema.String }) {
  override get message() {
    return t`There is no comment ${JSON.stringify(this.id)} here.`
  }
}

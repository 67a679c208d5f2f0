import { Schema } from "effect"
import { DisplayName } from "./Ids.ts"

/** A list of the console with filters. */
export const ListName = Schema.Literals(["templates", "deliveries", "audit", "keys", "members"])
export type ListName = typeof ListName.Type

/** A view to save. */
export const SavedViewInput = Schema.Struct({
  list: ListName,
  name: DisplayName.check(Schema.isTrimmed()).annotate({ description: "1 to 200 characters" }),
  query: Schema.String.check(
    Schema.isPattern(/^(?!&+$)[!$-~]{1,1000}$/, {
      message: "must be a query of 1 to 1,000 characters, encoded, without ? and #, with at least one parameter",
    }),
  ).annotate({ description: "The query of the list's page in the console, such as `state=active&tag=summer`" }),
  shared: Schema.optionalKey(Schema.Boolean).annotate({
    description: "true: all members see the view. Sharing requires the role editor. Default false",
  }),
})
export type SavedViewInput = typeof SavedViewInput.Type

/** A named filter of a list. */
export const SavedView = Schema.Struct({
  id: Schema.String,
  list: ListName,
  name: Schema.String,
  query: Schema.String,
  shared: Schema.Boolean.annotate({ description: "Whether all members see the view" }),
  start: Schema.Boolean.annotate({ description: "Whether the list opens with the view for the member" }),
}).annotate({ identifier: "SavedView" })
export type SavedView = typeof SavedView.Type

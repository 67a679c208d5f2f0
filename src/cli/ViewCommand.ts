import { Argument, Flag } from "effect/cli"
import { ListName } from "../domain/SavedView.ts"
import { call, callWith, commandGroup } from "./ApiCommand.ts"
import { argument, choice, text, toggle } from "./Flags.ts"

const view = argument("view", "The view's id, such as active-mails")
const member = text("member", "E-mail address or account id of the member whose own views are meant")

/** `parlance view …` */
export const viewCommand = commandGroup("view", "Saved views of lists in the console", {
  list: call("listViews", "List the shared views, and the own views of a member", {
    member,
    list: choice("list", ListName.literals, "One list only"),
  }).result(({ views }) => views)
    .table({ id: "id", list: "list", name: "name", query: "query", shared: "shared", start: "start" }, "No views"),

  set: call("putView", "Create or replace a view", {
    view,
    list: Flag.Literals("list", ListName.literals).pipe(Flag.withDescription("The list of the view")),
    name: Flag.String("name").pipe(Flag.withDescription("The name that members see")),
    query: Flag.String("query").pipe(Flag.withDescription("The query of the list's page in the console, without ?")),
    shared: toggle("shared", "All members see the view. Required without --member"),
    member,
  }).examples('parlance view set summer --list templates --name "Summer" --query "state=active&tag=summer" --shared')
    .text(({ id, name, shared }) => `Saved ${id} (${name})${shared ? ", shared" : ""}`),

  delete: call("deleteView", "Delete a view", { view, member })
    .result((_, { view }) => ({ id: view, deleted: true }))
    .text(({ id }) => `Deleted ${id}`),

  start: callWith("putStartView", "Set the view with which a list opens for a member", {
    list: Argument.Literals("list", ListName.literals).pipe(Argument.withDescription(ListName.literals.join(", "))),
    view: argument("view", "The view's id. Default: all rows").pipe(Argument.optional),
    member: Flag.String("member").pipe(Flag.withDescription("E-mail address or account id of the member")),
  }, ({ view, ...rest }) => ({ ...rest, view: view ?? null })).text(() => "Saved."),
})

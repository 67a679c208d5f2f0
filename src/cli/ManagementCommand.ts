import { Effect } from "effect"
import { Command } from "effect/cli"
import type { WaitingChange } from "../domain/Proposal.ts"
import { ManagementClient } from "./Connection.ts"
import { isProposed, organization, print, printProposed } from "./Root.ts"
import { type TableColumns, tableOf } from "./Table.ts"

// Most commands send one request to the management API and print the response. Such a command is data: its flags, its
// request, and a text or the columns of a table. Other commands use `Command.make` of Effect.

type Flags = Command.Command.Config

type ValuesOf<F extends Flags> = Command.Command.Config.Infer<F>

/** The services that a command may use. */
type Services = Effect.Services<typeof organization>

/** A command that calls the management API once. `Given` has the values of its flags and the organization. */
interface Definition<F extends Flags, Given, Payload, Response, Shown> {
  readonly name: string
  readonly description: string
  readonly examples?: ReadonlyArray<string>
  /** Default: no flags. */
  readonly flags?: F
  /** Reads or checks the body of the request before any request is sent. Default: no body. */
  readonly payload?: (flags: ValuesOf<F>) => Effect.Effect<Payload, unknown>
  readonly call: (
    client: ManagementClient["Service"],
    given: Given & { readonly payload: Payload },
  ) => Effect.Effect<Response, unknown, Services>
  /** Returns the value that `--json` prints. Default: the response. */
  readonly result?: (response: Response, given: Given) => Shown
}

type RowOf<Shown> = Shown extends ReadonlyArray<infer Row> ? Row : Shown

type Print<Given, Response, Shown> = (
  shown: Shown,
  given: Given,
  response: Response,
) => Effect.Effect<void, never, Services>

const commandOf = <F extends Flags, Scope extends object, Payload, Response, Shown>(
  scope: Effect.Effect<Scope, unknown, Services>,
  definition: Definition<F, ValuesOf<F> & Scope, Payload, Response, Shown>,
  printResult: Print<ValuesOf<F> & Scope, Response, Shown>,
) => {
  const { call, description, examples = [], flags = {} as F, name, payload, result } = definition
  return Command.make(
    name,
    flags,
    Effect.fnUntraced(function* (values: ValuesOf<F>) {
      // The casts hold by the defaults of `F`, `Payload` and `Shown` in `commandIn`.
      const body = (payload === undefined ? {} : { payload: yield* payload(values) }) as { payload: Payload }
      const client = yield* ManagementClient
      const given = Object.assign({}, values, yield* scope)
      const response = yield* call(client, Object.assign(body, given))
      const shown = result === undefined ? response as unknown as Shown : result(response, given)
      yield* printResult(shown, given, response)
    }),
  ).pipe(
    Command.withDescription(description),
    Command.withExamples(examples.map((command) => ({ command }))),
  )
}

const commandIn =
  <Scope extends object>(scope: Effect.Effect<Scope, unknown, Services>) =>
  <Response, const F extends Flags = Record<never, never>, Payload = undefined, Shown = Response>(
    definition: Definition<F, ValuesOf<F> & Scope, Payload, Response, Shown>,
  ) => {
    type Given = ValuesOf<F> & Scope

    return {
      /** Prints the result as a text. */
      text: (textOf: (shown: Shown, given: Given, response: Response) => string) =>
        commandOf(
          scope,
          definition,
          (shown, given, response) => print(shown, textOf(shown, given, response)),
        ),

      /** Prints the result as a table with a row for each element, or `empty` if there is no element. */
      table: (columns: TableColumns<RowOf<Shown>>, empty?: string | ((given: Given) => string)) =>
        commandOf(scope, definition, (shown, given) => {
          const rows = (Array.isArray(shown) ? shown : [shown]) as ReadonlyArray<RowOf<Shown>>
          if (rows.length > 0 || empty === undefined) return print(shown, tableOf(columns, rows))
          return print(shown, typeof empty === "string" ? empty : empty(given))
        }),

      /** Prints `textOf` of a live change, or a note that the change needs approval. */
      change: (textOf: (live: Exclude<Shown, WaitingChange>, given: Given, response: Response) => string) =>
        commandOf(
          scope,
          definition,
          (shown, given, response) =>
            isProposed(shown)
              ? printProposed(shown)
              : print(shown, textOf(shown as Exclude<Shown, WaitingChange>, given, response)),
        ),
    }
  }

/** A command for the organization of `--org`. Default: the only organization. */
export const organizationCommand = commandIn(Effect.map(organization, (org) => ({ org })))

/** A command for the whole installation. */
export const installationCommand = commandIn(Effect.succeed({}))

import { Effect, Option, type Schema } from "effect"
import { Command } from "effect/cli"
import type { WaitingChange } from "../domain/Proposal.ts"
import {
  inputOf,
  ManagementClient,
  namesOrganization,
  type Operation,
  type ParameterOf,
  type ResponseOf,
} from "./Client.ts"
import { decodeInput } from "./Inputs.ts"
import { allPages } from "./Pages.ts"
import { isProposed, organization, print, printProposed } from "./Root.ts"
import { type TableColumns, tableOf } from "./Table.ts"

// Most commands call one operation of the management API and print its response. Such a command is data: the name of
// the operation, a description, flags with the names of the operation's parameters, and a text or the columns of a
// table. The path, the query and the body of the request follow from the contract.

type Flags = Command.Command.Config

/** The value of a flag: undefined if an optional flag is absent, and the result if the value is read by an effect. */
type Plain<Value> = Value extends Option.Option<infer A> ? Plain<A> | undefined
  : Value extends Effect.Effect<infer A, infer _E, infer _R> ? A
  : Value

/** The values of flags by name. */
type FlagValues<F extends Flags> = {
  readonly [Name in keyof Command.Command.Config.Infer<F>]: Plain<Command.Command.Config.Infer<F>[Name]>
}

/** The services that a command may use. */
export type Services = Effect.Services<typeof organization>

/** A command, or a command without the name that it has in its group. */
type Subcommand = Command.Command.Any | ((name: string) => Command.Command.Any)

type Members = Readonly<Record<string, unknown>>

const plain = (value: unknown): Effect.Effect<unknown, unknown> => {
  const given = Option.isOption(value) ? Option.getOrUndefined(value) : value
  return Effect.isEffect(given) ? given as Effect.Effect<unknown, unknown> : Effect.succeed(given)
}

/** The values of all flags. Reads files and standard input where a flag names them. */
const valuesOf = (flags: Members) =>
  Effect.map(
    Effect.forEach(Object.entries(flags), ([name, value]) => Effect.map(plain(value), (one) => [name, one] as const)),
    (entries): Members => Object.fromEntries(entries),
  )

/** The parts of a command: how it is called, its request, and the value that it shows. */
interface Parts<Values, Response, Shown> {
  readonly description: string
  readonly flags: Flags
  readonly examples: ReadonlyArray<Command.Command.Example>
  readonly run: (values: Values) => Effect.Effect<Response, unknown, Services>
  readonly result: (response: Response, values: Values) => Shown
  readonly statusOf: (response: Response, values: Values) => number
}

type RowOf<Shown> = Shown extends ReadonlyArray<infer Row> ? Row : Shown

type TextOf<Values, Response, Shown> = (shown: Shown, values: Values, response: Response) => string

/** A command whose output is still to be chosen, by `text`, `table` or `change`. */
export class ApiCommand<Values, Response, Shown = Response> {
  readonly parts: Parts<Values, Response, Shown>

  constructor(parts: Parts<Values, Response, Shown>) {
    this.parts = parts
  }

  /** Sets the value that `--json` prints. Default: the response. */
  result<Other>(result: (response: Response, values: Values) => Other) {
    return new ApiCommand<Values, Response, Other>({ ...this.parts, result })
  }

  /** Adds examples to the help. */
  examples(...examples: ReadonlyArray<string | Command.Command.Example>) {
    return new ApiCommand({
      ...this.parts,
      examples: examples.map((example) => typeof example === "string" ? { command: example } : example),
    })
  }

  /** Replaces the response, before `result` is set. */
  andThen<Other>(next: (response: Response, values: Values) => Effect.Effect<Other, unknown, Services>) {
    const { description, examples, flags, run } = this.parts
    return commandOf(
      { description, examples, flags },
      (values: Values) => Effect.flatMap(run(values), (response) => next(response, values)),
    )
  }

  /** Sets the exit status for responses that report a failure, or else a difference. Default: 1. */
  failsIf(failed: (response: Response, values: Values) => boolean, status = 1) {
    return new ApiCommand({
      ...this.parts,
      statusOf: (response: Response, values: Values) => failed(response, values) ? status : 0,
    })
  }

  private prints(printed: (shown: Shown, values: Values, response: Response) => Effect.Effect<void, never, Services>) {
    const { description, examples, flags, result, run, statusOf } = this.parts
    return (name: string) =>
      Command.make(
        name,
        flags,
        Effect.fnUntraced(function* (given) {
          const values = (yield* valuesOf(given)) as Values
          const response = yield* run(values)
          yield* printed(result(response, values), values, response)
          const status = statusOf(response, values)
          if (status > 0) process.exitCode = status
        }),
      ).pipe(Command.withDescription(description), Command.withExamples(examples))
  }

  /** Prints nothing more, because the command prints while it runs. */
  silent() {
    return this.prints(() => Effect.void)
  }

  /** Prints the result as a text. */
  text(textOf: TextOf<Values, Response, Shown>) {
    return this.prints((shown, values, response) => print(shown, textOf(shown, values, response)))
  }

  /** Prints the result as a table with a row for each element, or `empty` if there is no element. */
  table(columns: TableColumns<RowOf<Shown>>, empty?: string | ((values: Values) => string)) {
    return this.prints((shown, values) => {
      const rows = (Array.isArray(shown) ? shown : [shown]) as ReadonlyArray<RowOf<Shown>>
      if (rows.length > 0 || empty === undefined) return print(shown, tableOf(columns, rows))
      return print(shown, typeof empty === "string" ? empty : empty(values))
    })
  }

  /** Prints `textOf` of a live change, or a note that the change needs approval. */
  change(textOf: TextOf<Values, Response, Exclude<Shown, WaitingChange>>) {
    return this.prints((shown, values, response) =>
      isProposed(shown)
        ? printProposed(shown)
        : print(shown, textOf(shown as Exclude<Shown, WaitingChange>, values, response))
    )
  }
}

/** A command that shows its response. */
const commandOf = <Values, Response>(
  parts: Pick<Parts<Values, Response, Response>, "description" | "examples" | "flags">,
  run: (values: Values) => Effect.Effect<Response, unknown, Services>,
) => new ApiCommand<Values, Response>({ ...parts, run, result: (response) => response, statusOf: () => 0 })

/** Largest number of items of a page. */
const pageSize = "200"

/**
 * A command that calls one operation. The members of its request are the values of the flags, which have the names of
 * the operation's parameters. `checked` is the schema of a body that is checked before it is sent.
 */
class OperationCommand<Name extends Operation, Values> extends ApiCommand<Values, ResponseOf<Name>> {
  private readonly operation: Name
  private readonly membersOf: (values: Values) => unknown
  private readonly checked: Schema.ConstraintDecoder<unknown> | undefined

  constructor(
    operation: Name,
    { description, flags }: { readonly description: string; readonly flags: Flags },
    membersOf: (values: Values) => unknown = (values) => values,
    checked?: Schema.ConstraintDecoder<unknown>,
  ) {
    super({
      description,
      flags,
      examples: [],
      result: (response) => response,
      statusOf: () => 0,
      run: (values) => this.request(values) as Effect.Effect<ResponseOf<Name>, unknown, Services>,
    })
    this.operation = operation
    this.membersOf = membersOf
    this.checked = checked
  }

  private request = Effect.fnUntraced(function* (this: OperationCommand<Name, Values>, values: Values, page?: Members) {
    const made = this.membersOf(values)
    const members = Effect.isEffect(made) ? yield* made as Effect.Effect<unknown, unknown> : made
    const input = inputOf(this.operation, { ...members as Members, ...page })
    const payload = this.checked === undefined ? input.payload : yield* decodeInput(this.checked, input.payload)
    const params = namesOrganization(this.operation) && input.params["org"] === undefined
      ? { ...input.params, org: yield* organization }
      : input.params
    const client = yield* ManagementClient
    // The types of the contract apply to one operation. Here it is any operation.
    const call = client[this.operation] as unknown as (input: object) => Effect.Effect<unknown, unknown>
    return yield* call({ ...input, params, payload })
  })

  /** Sets the members of the request, or fails if the flags contradict each other. */
  sends(membersOf: (values: Values) => unknown) {
    return new OperationCommand(this.operation, this.parts, membersOf, this.checked)
  }

  /** Checks the body by its schema before it is sent. */
  checks(checked: Schema.ConstraintDecoder<unknown>) {
    return new OperationCommand(this.operation, this.parts, this.membersOf, checked)
  }

  /** Reads all pages. `items` is the member of a response with the items. */
  pages<Items extends keyof ResponseOf<Name>>(items: Items) {
    const read = (values: Values) =>
      allPages((cursor) =>
        Effect.map(
          this.request(values, { limit: pageSize, cursor }),
          (response) => {
            const page = response as Record<Items, ReadonlyArray<unknown>> & { readonly next_cursor: string | null }
            return { items: page[items], next_cursor: page.next_cursor }
          },
        )
      )
    return commandOf(this.parts, read as (values: Values) => Effect.Effect<ResponseOf<Name>[Items], unknown, Services>)
  }
}

/** Refuses flags that are not parameters of the operation. */
type Named<Name extends Operation, F> = { readonly [Other in Exclude<keyof F, ParameterOf<Name>>]: never }

/** A command that calls one operation of the management API. Its flags have the names of the operation's parameters. */
export const call = <Name extends Operation, const F extends Flags = Record<never, never>>(
  operation: Name,
  description: string,
  flags?: F & Named<Name, F>,
) => new OperationCommand<Name, FlagValues<F>>(operation, { description, flags: flags ?? {} })

/** A command that calls one operation with the parameters that `sends` makes of its flags. */
export const callWith = <Name extends Operation, const F extends Flags>(
  operation: Name,
  description: string,
  flags: F,
  sends: (values: FlagValues<F>) => unknown,
) => new OperationCommand<Name, FlagValues<F>>(operation, { description, flags }, sends)

/** A command that calls several operations of the management API. */
export const steps = <Response, const F extends Flags>(
  description: string,
  flags: F,
  run: (
    client: ManagementClient["Service"],
    values: FlagValues<F>,
  ) =>
    | Generator<Effect.Effect<unknown, unknown, Services>, Response, never>
    | Effect.Effect<Response, unknown, Services>,
) =>
  commandOf(
    { description, examples: [], flags },
    (values: FlagValues<F>) =>
      Effect.flatMap(ManagementClient, (client) => {
        const running = run(client, values)
        return Effect.isEffect(running) ? running : Effect.gen(() => running)
      }),
  )

/** A command with subcommands by name. */
export const commandGroup = <Name extends string>(
  name: Name,
  description: string,
  subcommands: Readonly<Record<string, Subcommand>>,
) =>
  Command.make(name).pipe(
    Command.withDescription(description),
    Command.withSubcommands(
      Object.entries(subcommands).map(([name, one]) => typeof one === "function" ? one(name) : one),
    ),
  ) as Command.Command<Name, object, object, unknown, Services>

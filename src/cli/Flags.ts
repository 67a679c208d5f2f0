import { Option } from "effect"
import { Argument, Flag } from "effect/cli"
import { readJson } from "./Inputs.ts"

/** A required argument. */
export const argument = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description))

/** An optional flag with a text. */
export const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

/** The optional flag of the next page. `earlier` is the earlier name of the flag. */
export const cursor = (earlier: string) =>
  Flag.String("cursor").pipe(
    Flag.withDescription("The value that the previous page printed"),
    Flag.withAlias(earlier),
    Flag.optional,
  )

/** An optional flag with a text that `parse` turns into a value. */
export const parsed = <A>(name: string, description: string, parse: (text: string) => A) =>
  text(name, description).pipe(Flag.map(Option.map(parse)))

/** An optional flag with JSON, which is parsed when the command runs. */
export const json = (name: string, description: string) =>
  parsed(name, description, (text) => readJson(`--${name}`, text))

/** An optional flag with one of the `choices`. */
export const choice = <const Choices extends ReadonlyArray<string>>(
  name: string,
  choices: Choices,
  description: string,
) => Flag.Literals(name, choices).pipe(Flag.withDescription(description), Flag.optional)

/** An optional flag with the text `true` or `false`. */
export const truth = (name: string, description: string) =>
  choice(name, ["true", "false"], description).pipe(Flag.map(Option.map((text) => text === "true")))

/** An optional flag with a number. */
export const number = (name: string, description: string) =>
  Flag.Finite(name).pipe(Flag.withDescription(description), Flag.optional)

/** An optional flag with a whole number. */
export const optionalWhole = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.optional)

/** A flag with a whole number. Default: `otherwise`. */
export const whole = (name: string, description: string, otherwise: number) =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.withDefault(otherwise))

/** A flag without a value. Default: off. */
export const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** An optional flag without a value. `--no-` before its name turns it off. */
export const switchable = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.optional)

/** The values of a repeated flag, or undefined if it is absent. */
export const orAbsent = <A>(values: ReadonlyArray<A>) => values.length === 0 ? undefined : values

/** A flag that may be repeated. Its value is undefined if it is absent. */
export const texts = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.atLeast(0), Flag.map(orAbsent))

/** A flag that may be repeated and replaces a list. An empty text clears the list. */
export const list = (name: string, description: string) =>
  texts(name, description).pipe(Flag.map((values) => values?.filter((value) => value !== "")))

/** The flag with the file of an export. */
export const out = text("out", "File to write. Default: standard output")

/** The argument of most commands about templates. */
export const template = argument("template", "The template's id")

/** The values that are present, by name. */
export const given = <Values extends object>(values: Values) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    readonly [Name in keyof Values]?: Exclude<Values[Name], undefined>
  }

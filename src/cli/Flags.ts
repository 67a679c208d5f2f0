import { Option } from "effect"
import { Argument, Flag } from "effect/cli"

/** A required argument. */
export const argument = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description))

/** An optional flag with a text. */
export const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

/** An optional flag with one of the `choices`. */
export const choice = <const Choices extends ReadonlyArray<string>>(
  name: string,
  choices: Choices,
  description: string,
) => Flag.Literals(name, choices).pipe(Flag.withDescription(description), Flag.optional)

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

/** A flag that may be repeated. */
export const texts = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.atLeast(0))

/** The argument of most commands about templates. */
export const template = argument("template", "The template's id")

/** The values of the flags that are present, by name. */
export const given = <Values extends Readonly<Record<string, Option.Option<unknown>>>>(values: Values) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => Option.isSome(value) ? [[name, value.value]] : []),
  ) as { readonly [Name in keyof Values]?: Option.Option.Value<Values[Name]> }

import type { Schema } from "effect"
import * as Json from "../../json/Json.ts"
import { t } from "../../languages/Language.ts"
import { ifFilled, list, number, type Reader, text, typed } from "../FormReaders.ts"
import type { InputField } from "./InputForm.tsx"

// Fields of a form for settings that differ by platform. They come from the schema with which the API decodes the settings.

/** Texts of a setting, and how it is shown. */
export interface Words {
  readonly label: string
  readonly hint?: string
  /** Several lines. */
  readonly long?: boolean
  /** Whether the setting is rarely needed. */
  readonly further?: boolean
}

/** The part of a schema's syntax tree that fields are made of. */
interface Ast {
  readonly _tag: string
  readonly context?: { readonly isOptional?: boolean } | undefined
  readonly literal?: unknown
  readonly types?: ReadonlyArray<Ast>
  readonly propertySignatures?: ReadonlyArray<{ readonly name: PropertyKey; readonly type: Ast }>
}

type Look = Pick<InputField, "as" | "isVerbatim" | "options" | "read" | "saysOptional">

const truth: Reader = (sent) => sent === "true" ? true : sent === "false" ? false : sent

const numberOrAny: Reader = (sent = "") => sent.trim().toLowerCase() === "any" ? null : number(sent)

/** JSON. Other texts stay texts, so that the schema refuses them. */
const json: Reader = (sent = "") => {
  try {
    return Json.parse(sent)
  } catch {
    return sent
  }
}

const lookOf = ({ _tag, types = [] }: Ast, isLong: boolean, isOptional: boolean): Look => {
  const select = (read: Reader, options: ReadonlyArray<readonly [string, string]>): Look => ({
    as: "select",
    read,
    options: isOptional ? [["", t`Not set`], ...options] : options,
  })
  if (_tag === "Boolean") return select(truth, [["true", t`Yes`], ["false", t`No`]])
  if (_tag === "Union" && types.every((type) => type._tag === "Literal")) {
    return { ...select(text, types.map(({ literal }) => [String(literal), String(literal)])), isVerbatim: true }
  }
  if (isLong) return { as: "code", read: typed }
  const saysOptional = isOptional
  if (_tag === "Arrays") return { as: "lines", read: list(), saysOptional }
  if (_tag === "Objects") return { as: "code", read: json, saysOptional }
  if (_tag === "Number") return { as: "number", read: number, saysOptional }
  if (_tag === "Union" && types.some((type) => type._tag === "Null")) return { read: numberOrAny, saysOptional }
  return { read: text, saysOptional }
}

/**
 * The fields of a schema's members and of their members. Their names and paths begin with `prefix`. `words` are by path,
 * joined with full stops. Empty fields are left out of the input.
 */
export const schemaFields = (
  members: Readonly<Record<string, Schema.Constraint>>,
  words: Readonly<Record<string, Words>>,
  prefix: string,
): Readonly<Record<string, InputField>> => {
  const walk = (path: ReadonlyArray<string>, ast: Ast, optional: boolean): ReadonlyArray<[string, InputField]> => {
    if (ast._tag === "Objects" && ast.propertySignatures?.length !== 0) {
      return (ast.propertySignatures ?? []).flatMap(({ name, type }) =>
        walk([...path, String(name)], type, optional || type.context?.isOptional === true)
      )
    }
    const isOptional = optional || ast.context?.isOptional === true
    const { further = false, long = false, ...own }: Words = words[path.join(".")] ?? { label: path.join(" ") }
    const { read = text, ...look } = lookOf(ast, long, isOptional)
    return [[[prefix, ...path].join("-"), {
      ...own,
      ...look,
      at: [prefix, ...path],
      isFurther: further,
      read: ifFilled(read),
      required: !isOptional,
    }]]
  }
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, { ast }]) => walk([name], ast as unknown as Ast, false)),
  )
}

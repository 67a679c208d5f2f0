import { Result } from "effect"
import type { RenderedFormat, RenderedFormats, Vars } from "../../src/domain/Template.ts"
import { Budget } from "../../src/rendering/Budget.ts"
import type { SourceFault } from "../../src/text/TextFaults.ts"
import { parseVars, render, type RenderFault, type RenderOptions } from "../../src/rendering/Renderer.ts"

export type Fields = Readonly<Record<string, unknown>>

/** 14 March 2026, 15:09:26.535 UTC, a Saturday. */
export const now = Date.UTC(2026, 2, 14, 15, 9, 26, 535)

export interface Setting extends Partial<RenderOptions> {
  readonly format?: RenderedFormat
}

/** Renders a variant whose sources are known to parse. Unless a budget is given, its steps alone can end it. */
export const renderVars = (vars: Vars, fields: Fields = {}, formats: RenderedFormats = {}, options: Setting = {}) =>
  render(Result.getOrThrow(parseVars(vars, formats)), fields, {
    strict: false,
    now,
    budget: new Budget(1, () => 0),
    ...options,
  })

/** The text of one source. */
export const textOf = (source: string, fields: Fields = {}, { format = "text", ...options }: Setting = {}): string =>
  Result.getOrThrow(renderVars({ v: source }, fields, { v: format }, options))["v"]!

/** Why one source does not render. */
export const faultOf = (source: string, fields: Fields = {}, options: Setting = {}): RenderFault =>
  Result.getOrThrow(Result.flip(renderVars({ v: source }, fields, {}, options)))

/** Why one source does not parse. */
export const sourceFaultOf = (source: string): SourceFault =>
  Result.getOrThrow(Result.flip(parseVars({ v: source }, {}))).faults[0]!

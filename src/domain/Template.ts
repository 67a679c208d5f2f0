import { Schema } from "effect"
import { isDeepStrictEqual } from "node:util"
import { english } from "../languages/Language.ts"
import { isStorable } from "./Attributes.ts"
import { Components } from "./VariantComponents.ts"
import { TemplateConversionEvents } from "./ConversionEvents.ts"
import { described } from "./described.ts"
import { largestValue } from "./Event.ts"
import { TemplateHoldout } from "./Holdout.ts"
import { byLocale, maxLocales, TemplateLocale } from "./Locale.ts"
import { hasControl } from "../json/ControlNames.ts"
import { CopyId, DisplayName, GivenCopyId, GivenTemplateId, TemplateId } from "./Ids.ts"
import { Seasons } from "./Season.ts"
import { SuggestedBy } from "./Suggestion.ts"
import { Targeting } from "./Targeting.ts"
import { TemplateTracking } from "./Tracking.ts"

/**
 * How a variable is rendered: `html` escapes substituted values unless marked `| raw`, `text` never does. `mjml` is
 * compiled to `html` when it is saved.
 */
export const Format = Schema.Literals(["text", "html", "mjml"])
export type Format = typeof Format.Type

/** Returns the format that a text of unknown format has by its tags. */
export const formatOf = (text: string): Format =>
  /<mjml[\s>]/i.test(text) ? "mjml" : /<[a-z!][^>]*>/i.test(text) ? "html" : "text"

/** The format of a rendered variable, or of a snippet. */
export const RenderedFormat = Schema.Literals(["text", "html"])
export type RenderedFormat = typeof RenderedFormat.Type

const storable = Schema.makeFilter<string>((value) =>
  isStorable(value) ? undefined : "must be well-formed Unicode without NUL"
)

/** Whether a template variable, such as `subject`, may have this name. */
const isVariableName = (name: string) =>
  name.length >= 1 && name.length <= 100 && name.isWellFormed() && !hasControl(name)

// Names are checked here and not by the key of a record, whose other members would be dropped without a word.
const wellNamed = Schema.makeFilter<Readonly<Record<string, unknown>>>((record) =>
  Object.keys(record).filter((name) => !isVariableName(name)).map((name) => ({
    path: [name],
    issue: "must be a name of 1 to 100 characters of well-formed Unicode without control characters",
  }))
)

/** Maximum length of the source of one variable. Unit: UTF-16 code units. */
export const sourceLength = 524_288

/** Source of one variable: text or HTML with Liquid. */
export const LiquidSource = Schema.String.check(Schema.isMaxLength(sourceLength), storable)

// The last check of a schema keeps its description in JSON Schema, where it is no filter of our own.
const atMost = (count: number) => Schema.isMaxProperties(count)

/** Liquid sources by variable name (1 to 100 characters), at most 100. */
export const Vars = Schema.Record(Schema.String, LiquidSource).check(wellNamed, atMost(100))
export type Vars = typeof Vars.Type

/** Liquid sources by locale and variable, in addition to the sources in `vars`: at most 50 locales. */
export const Locales = byLocale(Vars)
export type Locales = typeof Locales.Type

/** Formats by variable name; a variable without one is `text`. */
export const Formats = Schema.Record(Schema.String, Format).check(wellNamed, atMost(100))
export type Formats = typeof Formats.Type

/** Formats of rendered variables by name; a variable without one is `text`. */
export type RenderedFormats = Readonly<Record<string, RenderedFormat>>

/** Whether a variable is rendered as HTML. */
export const isHtml = (formats: Formats, name: string): boolean =>
  Object.hasOwn(formats, name) && formats[name] !== "text"

/** Returns the formats of the rendered variables. */
export const renderedFormats = (formats: Formats): RenderedFormats =>
  Object.fromEntries(Object.entries(formats).map(([name, format]) => [name, format === "mjml" ? "html" : format]))

/** Returns the names of the variables of a variant that are MJML. */
export const mjmlNames = ({ formats, vars }: { readonly formats: Formats; readonly vars: Vars }) =>
  Object.keys(formats).filter((name) => formats[name] === "mjml" && Object.hasOwn(vars, name))

/** Returns the texts of a variant in all its locales. Texts in the default locale come first. */
export const textsInAll = (
  { locales = {}, vars = {} }: { readonly vars?: Vars | undefined; readonly locales?: Locales | undefined },
): ReadonlyArray<Vars> => [vars, ...Object.values(locales)]

/** Returns the sources of a variant that are MJML, in all its locales. */
export const mjmlSources = (
  { formats, ...texts }: { readonly formats: Formats; readonly vars: Vars; readonly locales?: Locales | undefined },
): ReadonlyArray<string> => textsInAll(texts).flatMap((vars) => mjmlNames({ formats, vars }).map((name) => vars[name]!))

const weight = Schema.Finite.check(Schema.isBetween({ minimum: -1000, maximum: 1000 }))

/** Maximum revenue that one decision counts for, 0.001 to a billion. Unit: the unit of the values of conversions. */
const RevenueCap = Schema.Finite.check(Schema.isBetween({ minimum: 0.001, maximum: largestValue })).annotate({
  description:
    "With `revenue`: the most that the conversions of one decision count for, in the unit of their values, " +
    "so that a single order does not decide",
})

const weightNames = ["click", "open", "conversion", "negative", "revenue"] as const

/**
 * The outcome that a template maximizes: one outcome, or a weighted mix of outcomes and of the value of conversions
 * (`revenue`). Costs, such as `negative` (unsubscribes and complaints, without bounces), have a weight below zero.
 * Default: `click`.
 */
export const Objective = Schema.Union([
  Schema.Literals(["click", "open", "conversion"]),
  Schema.Struct({
    click: Schema.optionalKey(weight),
    open: Schema.optionalKey(weight),
    conversion: Schema.optionalKey(weight),
    negative: Schema.optionalKey(weight),
    revenue: Schema.optionalKey(weight.annotate({
      description: "Worth of one unit of currency in the values of a decision's conversions, up to `revenue_cap`",
    })),
    revenue_cap: Schema.optionalKey(RevenueCap),
  }).check(
    Schema.makeFilter((mix) =>
      weightNames.some((name) => (mix[name] ?? 0) > 0)
        ? undefined
        : "must give at least one outcome a weight above zero"
    ),
    Schema.makeFilter((mix) =>
      mix.revenue !== undefined && mix.revenue_cap === undefined
        ? { path: ["revenue_cap"], issue: "is required with `revenue`: the most that one decision counts for" }
        : mix.revenue === undefined && mix.revenue_cap !== undefined
        ? { path: ["revenue_cap"], issue: "is only for objectives with `revenue`" }
        : undefined
    ),
  ),
])
export type Objective = typeof Objective.Type

/** Hours for which a user keeps the variant received before: 0 (never, the default) to 8,760 (a year). */
const StickyHours = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 8760 }))

/**
 * Minimum share of the runner-up while a leader is close to winning, divided by the number of candidates. 0 to 0.2.
 * Default: 0.
 */
const RunnerUpFloor = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.2 }))

/** A host name of DNS: 1 to 253 characters, labels of 1 to 63, each beginning and ending with a letter or digit. */
const isHostName = (text: string) =>
  text.length <= 253 && text.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))

/**
 * Domains whose links in `html` variables get the decision's tracking id as `tracking_id`, with their subdomains: up to
 * 50 host names in lowercase ASCII, such as `shop.example`. None by default.
 */
const LinkDomains = Schema.Array(
  Schema.String.check(
    Schema.makeFilter((text) =>
      isHostName(text)
        ? undefined
        : "must be a host name in lowercase without scheme, port or path, such as shop.example (beyond ASCII as xn--…)"
    ),
  ),
).check(Schema.isMaxLength(50))

/** Whether a template's messages also go to people who have unsubscribed. Default: false. */
const IgnoreUnsubscribes = Schema.Boolean.annotate({
  description:
    "True for transactional messages, such as receipts: they also go to people who have unsubscribed, never to addresses " +
    "suppressed for another reason. False unless said",
})

const Tag = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    text.trim() !== text || /[,\p{Cc}]/u.test(text) || !isStorable(text)
      ? "must be one line of text without a comma and without spaces at its ends"
      : undefined
  ),
  Schema.isMinLength(1),
  Schema.isMaxLength(50),
)

/** The most tags of a template. */
export const maxTags = 20

/** Tags of a template, by which lists are filtered: up to 20 of 1 to 50 characters, each once. */
export const Tags = Schema.Array(Tag).check(
  Schema.makeFilter<ReadonlyArray<string>>((tags) => {
    const repeated = tags.findIndex((tag, at) => tags.indexOf(tag) < at)
    return repeated < 0 ? undefined : { path: [repeated], issue: "is there twice" }
  }),
  Schema.isMaxLength(maxTags),
)

/** The e-mail address of the member who looks after a template; null for no owner. */
export const TemplateOwner = Schema.NullOr(
  Schema.String.check(
    Schema.makeFilter<string>((text) =>
      /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(text) && isStorable(text)
        ? undefined
        : "must be the e-mail address of a member"
    ),
    Schema.isMaxLength(254),
  ),
)

const variantVars = described(Vars, "Liquid sources by variable name, such as `subject`: up to 100")

const variantSettings = {
  name: Schema.optionalKey(described(DisplayName, "Display name. Default: the id")),
  formats: Schema.optionalKey(
    described(Formats, "`text`, `html` or `mjml` by variable name. `html` and `mjml` escape values. Default: `text`"),
  ),
  locales: Schema.optionalKey(
    described(
      Locales,
      `Sources in other locales, by locale and variable, such as \`{de: {subject: Hallo}}\`: up to ${maxLocales}. A variable ` +
        "without one has the source in `vars`. Default: none",
    ),
  ),
  active: Schema.optionalKey(described(Schema.Boolean, "Whether the variant can be selected. Default: true")),
  targeting: Schema.optionalKey(
    described(Targeting, "Conditions on the attributes of a request. All must hold. Default: everyone"),
  ),
  seasons: Schema.optionalKey(
    described(Seasons, "Periods in which the variant is eligible. One must hold. Default: always"),
  ),
  components: Schema.optionalKey(
    described(Components, "Parts that variants share, by kind, such as `{subject: question}`. Default: none"),
  ),
}

/** A variant in requests and template files. A variant without `id` gets a new id. Default of `active`: true. */
export const VariantInput = Schema.Struct({
  id: Schema.optionalKey(
    described(GivenCopyId, "Id of the variant, unique within its template. Without it, every import adds a variant"),
  ),
  vars: variantVars,
  ...variantSettings,
}).annotate({ identifier: "VariantInput" })
export type VariantInput = typeof VariantInput.Type

/**
 * A change of a variant. Absent members stay unchanged; `vars`, `locales`, `formats`, `targeting`, `seasons` and
 * `components` are replaced as a whole.
 */
export const VariantPatch = Schema.Struct({ vars: Schema.optionalKey(variantVars), ...variantSettings }).annotate({
  identifier: "VariantPatch",
})
export type VariantPatch = typeof VariantPatch.Type

/** Whether messages of a template carry the headers `List-Unsubscribe` and `List-Unsubscribe-Post`. Default: false. */
const ListUnsubscribe = Schema.Boolean.annotate({
  description: "Whether e-mails carry the headers List-Unsubscribe and List-Unsubscribe-Post (RFC 8058) with the " +
    "unsubscribe link of this service. False unless said",
})

/** A setting of templates: what the API, the database, template files, the audit log and the console know about it. */
interface TemplateSetting {
  /** The schema of the setting in requests and template files. A setting that is absent has its default. */
  readonly schema: Schema.Top
  /** The schema of the stored setting. */
  readonly stored: Schema.Top
  readonly default: unknown
  /** The SQL type of its column of the table `templates`, which has the name of the setting. */
  readonly column: "boolean" | "float8" | "jsonb" | "text" | "text[]"
  /** Label in the console. */
  readonly label: string
}

/**
 * The settings of templates, in the order of the API reference. `CONTRIBUTING.md` lists the steps to add one.
 */
export const templateSettings = {
  strict: {
    schema: described(Schema.Boolean, "Whether a missing field is an error instead of an empty text. Default: false"),
    stored: Schema.Boolean,
    default: false,
    column: "boolean",
    label: english("Missing fields"),
  },
  locale: {
    schema: described(
      Schema.NullOr(TemplateLocale),
      "The attribute or field with the person's locale, and the locale of the texts in `vars`, such as " +
        "`{attribute: language, default: en}`. Required for texts in `locales`. Default: one locale",
    ),
    stored: Schema.NullOr(TemplateLocale),
    default: null,
    column: "jsonb",
    label: english("Locale"),
  },
  sticky_hours: {
    schema: described(StickyHours, "Hours for which a user keeps the same variant. Default: 0, never"),
    stored: Schema.Finite,
    default: 0,
    column: "float8",
    label: english("Keep the same variant"),
  },
  runner_up_floor: {
    schema: described(
      RunnerUpFloor,
      "Minimum share of the second-best variant while a leader is close to winning, divided by the number of candidates: 0 to 0.2. " +
        "Default: 0.1",
    ),
    stored: Schema.Finite,
    default: 0.1,
    column: "float8",
    label: english("Share of the runner-up"),
  },
  objective: {
    schema: described(
      Objective,
      "The outcome to improve: `click`, `open`, `conversion`, or weights such as `{click: 1, conversion: 5}`. Default: `click`",
    ),
    stored: Objective,
    default: "click",
    column: "jsonb",
    label: english("Goal"),
  },
  send_nothing: {
    schema: described(
      Schema.Boolean,
      "Whether a person can get nothing where the model expects that a message does more harm than good, by the weights " +
        "of the objective. Requires an objective with a weight below 0, such as `negative: -8`. Default: false",
    ),
    stored: Schema.Boolean,
    default: false,
    column: "boolean",
    label: english("Send nothing"),
  },
  holdout: {
    schema: described(
      Schema.NullOr(TemplateHoldout),
      "People held out of this template. Default: the holdout of the organization",
    ),
    stored: Schema.NullOr(TemplateHoldout),
    default: null,
    column: "jsonb",
    label: english("Holdout"),
  },
  tracking: {
    schema: described(
      Schema.NullOr(TemplateTracking),
      "Opens and clicks measured by Deliver. Default: as the organization",
    ),
    stored: Schema.NullOr(TemplateTracking),
    default: null,
    column: "jsonb",
    label: english("Tracking"),
  },
  list_unsubscribe: {
    schema: ListUnsubscribe,
    stored: ListUnsubscribe,
    default: false,
    column: "boolean",
    label: english("Unsubscribe header"),
  },
  link_domains: {
    schema: described(
      LinkDomains,
      "Domains whose links carry the tracking id, with their subdomains. Default: none",
    ),
    stored: Schema.Array(Schema.String),
    default: [],
    column: "text[]",
    label: english("Links with tracking id"),
  },
  ignore_unsubscribes: {
    schema: IgnoreUnsubscribes,
    stored: IgnoreUnsubscribes,
    default: false,
    column: "boolean",
    label: english("People who unsubscribed"),
  },
  conversion_events: {
    schema: TemplateConversionEvents,
    stored: Schema.Array(Schema.String),
    default: [],
    column: "text[]",
    label: english("Conversion events"),
  },
  tags: {
    schema: described(
      Tags,
      "Tags, by which lists are filtered: up to 20. Default: none; an import without them keeps them",
    ),
    stored: Schema.Array(Schema.String),
    default: [],
    column: "text[]",
    label: english("Tags"),
  },
  owner: {
    schema: described(
      TemplateOwner,
      "E-mail address of the member who looks after the template. Default: no owner; an import without it keeps it",
    ),
    stored: Schema.NullOr(Schema.String).annotate({
      description: "E-mail address of the owner, who may have left the organization since; null: no owner",
    }),
    default: null,
    column: "text",
    label: english("Owner"),
  },
} as const satisfies { readonly [name: string]: TemplateSetting }

/** The name of a setting of templates. */
export type TemplateSettingName = keyof typeof templateSettings
/** Names of the settings of templates, in the order of the table. */
export const templateSettingNames = Object.keys(templateSettings) as ReadonlyArray<TemplateSettingName>

/** Returns an object with a value for each setting. */
const perSetting = <A>(valueOf: (name: TemplateSettingName) => A) =>
  Object.fromEntries(templateSettingNames.map((name) => [name, valueOf(name)])) as Record<TemplateSettingName, A>

const settingsInput = {
  ...perSetting((name) => Schema.optionalKey<Schema.Top>(templateSettings[name].schema)) as {
    readonly [name in TemplateSettingName]: Schema.optionalKey<typeof templateSettings[name]["schema"]>
  },
  archived: Schema.optionalKey(Schema.Boolean).annotate({
    description: "true: the template is not served, but keeps its content and results. Default false",
  }),
}

/** A template in requests and template files, with at most 1,000 variants. A template without `id` gets a new id. */
export const TemplateInput = Schema.Struct({
  id: Schema.optionalKey(
    described(GivenTemplateId, "Id of the template in requests. Without it, every import creates a template"),
  ),
  name: described(DisplayName, "Display name"),
  ...settingsInput,
  variants: Schema.optionalKey(
    described(Schema.Array(VariantInput).check(Schema.isMaxLength(1000)), "Variants of the template, up to 1,000"),
  ),
}).annotate({ identifier: "TemplateInput" })
export type TemplateInput = typeof TemplateInput.Type

/** A change of a template. Absent members stay unchanged. */
export const TemplatePatch = Schema.Struct({ name: Schema.optionalKey(DisplayName), ...settingsInput }).annotate({
  identifier: "TemplatePatch",
})
export type TemplatePatch = typeof TemplatePatch.Type

/** A stored variant. Every setting has a value: the given one or its default. */
export const Variant = Schema.Struct({
  id: CopyId,
  name: Schema.String,
  vars: Vars,
  locales: Locales,
  formats: Formats,
  active: Schema.Boolean,
  targeting: Targeting,
  seasons: Seasons,
  components: Components,
  suggested: Schema.optionalKey(SuggestedBy),
  created_at: Schema.String,
  updated_at: Schema.String,
}).annotate({ identifier: "Variant" })
export type Variant = typeof Variant.Type

/** A stored template with its variants, oldest first. `revision` grows with every change of it or of a variant. */
export const Template = Schema.Struct({
  id: TemplateId,
  name: Schema.String,
  ...perSetting<Schema.Top>((name) => templateSettings[name].stored) as {
    readonly [name in TemplateSettingName]: typeof templateSettings[name]["stored"]
  },
  archived_at: Schema.NullOr(Schema.String).annotate({ description: "Since when it is archived; null: in use" }),
  revision: Schema.Int,
  created_at: Schema.String,
  updated_at: Schema.String,
  variants: Schema.Array(Variant),
}).annotate({ identifier: "Template" })
export type Template = typeof Template.Type

/** The settings of a template. Every setting has a value: the given one or its default. */
export type TemplateSettings = Pick<Template, TemplateSettingName>

/** Returns the given settings. Absent settings get their defaults. */
export const withDefaults = (given: Partial<TemplateSettings>): TemplateSettings =>
  perSetting<unknown>((name) => given[name] ?? templateSettings[name].default) as TemplateSettings

/** Returns the settings of a template without its other members. */
export const settingsOf = (template: TemplateSettings): TemplateSettings =>
  perSetting<unknown>((name) => template[name]) as TemplateSettings

/** Returns the settings that differ from their defaults. */
export const changedSettings = (template: TemplateSettings): Partial<TemplateSettings> =>
  Object.fromEntries(
    templateSettingNames.filter((name) => !isDeepStrictEqual(template[name], templateSettings[name].default))
      .map((name) => [name, template[name]]),
  )

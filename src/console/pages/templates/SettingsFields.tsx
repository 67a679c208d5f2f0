import type { ComponentChildren } from "preact"
import type { Member } from "../../../accounts/Account.ts"
import type { Fault } from "../../../domain/Errors.ts"
import type { Template } from "../../../domain/Template.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { faultText } from "../../RetoldTexts.ts"
import { percentText, shareOf } from "../../FieldShare.ts"
import { Choices, Field, SelectField } from "../../components/Field.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import { checked, ifFilled, ifSent, list, number, orNull, readForm, text, typed } from "../../FormReaders.ts"
import type { Fields } from "../../Routes.tsx"
import { Advanced } from "./EditorParts.tsx"
import { localeFields, localeInput, LocaleSettings } from "./LocaleSettings.tsx"

// The settings of a template as fields of a form, and back.

/** Labels of the settings of a template, by field. */
export const settingsLabels = {
  name: english("Name"),
  objective: english("Goal"),
  click: english("Weight of a click"),
  open: english("Weight of an open"),
  conversion: english("Weight of a conversion"),
  negative: english("Weight of a negative signal"),
  revenue: english("Weight of revenue"),
  revenue_cap: english("Most revenue of a send"),
  locale: english("Locale"),
  locale_name: english("Attribute or field"),
  locale_default: english("Default locale"),
  sticky_hours: english("Keep the same variant, hours"),
  runner_up_floor: english("Least traffic of the second-best variant (%)"),
  send_nothing: english("Send nothing"),
  holdout: english("Holdout"),
  holdout_share: english("Share held out (%)"),
  holdout_copy_id: english("Fixed variant"),
  tracking: english("Tracking"),
  list_unsubscribe: english("Unsubscribe header"),
  strict: english("Strictness"),
  ignore_unsubscribes: english("Unsubscribes"),
  link_domains: english("Link domains"),
  conversion_events: english("Names of conversions"),
  tags: english("Tags"),
  owner: english("Owner"),
}

const weights = ["click", "open", "conversion", "negative", "revenue", "revenue_cap"] as const
const weightNames = {
  click: english("Clicks"),
  open: english("Opens"),
  conversion: english("Conversions"),
  negative: english("Negative signals"),
  revenue: english("Revenue"),
  revenue_cap: english("Revenue cap"),
}

/** The fields that are read as the member of their name. */
const readers = {
  name: text,
  strict: checked,
  send_nothing: checked,
  ignore_unsubscribes: checked,
  sticky_hours: number,
  runner_up_floor: ifSent((sent = "") => shareOf(sent)),
  link_domains: list(/[\s,]+/),
  tags: ifSent(list(/[,\r\n]/)),
  owner: ifSent(orNull(typed)),
  conversion_events: ifSent(list()),
}

const weightReaders = Object.fromEntries(weights.map((name) => [name, ifFilled(number)]))

/** The holdout of the form, as the API takes it: null as the organization. */
const holdoutOf = ({ holdout: content, holdout_copy_id: copyId = "", holdout_share: share = "" }: Fields) =>
  content === "organization" ? null : {
    share: shareOf(share),
    content,
    // Other contents have no fixed variant.
    ...(content === "fixed" && copyId.trim() !== "" ? { copy_id: copyId.trim() } : {}),
  }

/** Tracking of the form, as the API takes it: null as the organization. */
const trackingOf = (choice: string) =>
  choice === "organization"
    ? null
    : { opens: choice === "both" || choice === "opens", clicks: choice === "both" || choice === "clicks" }

const trackingChoice = (tracking: Template["tracking"]): string =>
  tracking === null
    ? "organization"
    : tracking.opens && tracking.clicks
    ? "both"
    : tracking.opens
    ? "opens"
    : tracking.clicks
    ? "clicks"
    : "none"

/** The form as input of the API. */
export const settingsInput = (fields: Fields) => {
  const { holdout, locale, objective, tracking } = fields
  return {
    ...readForm(readers, fields),
    objective: objective === "mix" ? readForm(weightReaders, fields) : objective,
    ...(locale === undefined ? {} : { locale: localeInput(fields) }),
    ...(holdout === undefined ? {} : { holdout: holdoutOf(fields) }),
    ...(tracking === undefined ? {} : {
      tracking: trackingOf(tracking),
      list_unsubscribe: "list_unsubscribe" in fields,
    }),
  }
}

/** Places each fault at its control of the form, such as the fault of a weight at the field of that weight. */
export const settingsPointers = (faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults.map(({ detail, pointer }) => ({
    pointer: weights.some((weight) => pointer === `/objective/${weight}`) ? pointer.slice("/objective".length) : pointer
      .replace(/^\/holdout\/(share|copy_id)$/, "/holdout_$1").replace("/holdout/content", "/holdout")
      .replace(/^\/locale\/(?:attribute|field)$/, "/locale_name").replace("/locale/default", "/locale_default")
      .replace(/^\/(conversion_events|tags)\/\d+$/, "/$1"),
    detail: pointer.startsWith("/tags/")
      ? t`tag ${Number(pointer.split("/")[2]) + 1} ${faultText(detail)}`
      : pointer.startsWith("/conversion_events/")
      ? t`line ${Number(pointer.split("/")[2]) + 1} ${faultText(detail)}`
      : pointer === "/holdout/share"
      ? t`must be a number from 0 to 50`
      : pointer === "/runner_up_floor"
      ? t`must be a number from 0 to 20`
      : detail,
  }))

/** The form of a stored template. */
export const settingsOf = (template: Template): Fields => {
  const {
    conversion_events,
    holdout,
    ignore_unsubscribes,
    link_domains,
    list_unsubscribe,
    locale,
    name,
    objective,
    owner,
    runner_up_floor,
    send_nothing,
    sticky_hours,
    strict,
    tags,
    tracking,
  } = template
  return {
    name,
    sticky_hours: String(sticky_hours),
    runner_up_floor: percentText(runner_up_floor),
    ...(strict ? { strict: "strict" } : {}),
    ...(send_nothing ? { send_nothing: "send_nothing" } : {}),
    ...(ignore_unsubscribes ? { ignore_unsubscribes: "ignore" } : {}),
    tags: tags.join(", "),
    owner: owner ?? "",
    ...localeFields(locale),
    link_domains: link_domains.join("\n"),
    conversion_events: conversion_events.join("\n"),
    tracking: trackingChoice(tracking),
    ...(list_unsubscribe ? { list_unsubscribe: "list_unsubscribe" } : {}),
    holdout: holdout?.content ?? "organization",
    ...(holdout === null ? {} : { holdout_share: percentText(holdout.share) }),
    ...(holdout?.copy_id === undefined ? {} : { holdout_copy_id: holdout.copy_id }),
    objective: typeof objective === "string" ? objective : "mix",
    ...(typeof objective === "string"
      ? {}
      : Object.fromEntries(Object.entries(objective).map(([outcome, weight]) => [outcome, String(weight)]))),
  }
}

/** Properties of the field of a setting. */
type FieldOf = (name: keyof typeof settingsLabels, initial?: string) => {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly faults: ReadonlyArray<Fault>
}

const WeightFields = ({ field }: { readonly field: FieldOf }) => (
  <fieldset class="quarters weights">
    <legend class="small muted">
      {t`Weights of the mix; empty counts nothing, costs (unsubscribes, complaints) are below zero. Revenue
        is the value of conversions, for each decision up to the revenue cap`}
    </legend>
    {weights.map((name) => (
      <Field key={name} {...field(name)} label={translated(weightNames[name])} type="number" required={false} />
    ))}
  </fieldset>
)

/** All variants of the template, plus the selected variant if it was deleted. */
const variantOptions = (variants: Template["variants"], chosen: string) => [
  ["", t`Choose a variant`] as const,
  ...variants.map(({ id, name }) => [id, name === id ? id : `${name} (${id})`] as const),
  ...chosen === "" || variants.some(({ id }) => id === chosen) ? [] : [[chosen, t`${chosen} (not a variant)`] as const],
]

const HoldoutFields = ({ field, variants }: { readonly field: FieldOf; readonly variants: Template["variants"] }) => (
  <fieldset class="quarters">
    <legend class="small muted">{t`Only for a holdout of its own`}</legend>
    <Field {...field("holdout_share")} type="number" required={false} hint={t`From 0 (no holdout) to 50 %.`} />
    <SelectField
      {...field("holdout_copy_id")}
      hint={variants.length === 0
        ? t`Add variants first, then choose one in the settings.`
        : t`What everyone in the holdout gets.`}
      options={variantOptions(variants, field("holdout_copy_id").value)}
    />
  </fieldset>
)

/** A setting that is on or off. `value`: what the ticked box sends. */
const Box = ({ fields, hint, name, text, value, ...common }: ReturnType<FieldOf> & {
  readonly fields: Fields
  readonly text: string
  readonly hint: string
}) => (
  <Choices
    {...common}
    name={name}
    type="checkbox"
    values={name in fields ? [value] : []}
    options={[[value, text, hint]]}
  />
)

const LinkDomains = ({ domains, value }: { readonly domains: ReadonlyArray<Fault>; readonly value: string }) => (
  <div class="field">
    <label for="link_domains">{translated(settingsLabels.link_domains)}</label>
    <p class="hint" id="link_domains-hint">
      {t`Links to these hosts and their subdomains carry the tracking id. One host per line, such as
        shop.example.`}
    </p>
    <textarea
      id="link_domains"
      name="link_domains"
      rows={3}
      spellcheck={false}
      aria-describedby={domains.length === 0 ? "link_domains-hint" : "link_domains-hint link_domains-error"}
      {...(domains.length === 0 ? {} : { "aria-invalid": "true" as const })}
    >
      {value}
    </textarea>
    {domains.length !== 0 && (
      <p class="error" id="link_domains-error">
        {domains.map(({ detail, pointer }) => {
          const at = Number(pointer.split("/")[2] ?? "NaN")
          return Number.isNaN(at) ? detail : t`Host ${at + 1} ${detail}`
        }).join("; ")}
      </p>
    )}
  </div>
)

/** The tags and the owner of a template. */
const Keeping = ({ field, members }: { readonly field: FieldOf; readonly members: ReadonlyArray<Member> }) => {
  const { value: owner } = field("owner")
  const hasLeft = owner !== "" && !members.some(({ email }) => email === owner)
  return (
    <>
      <Field
        {...field("tags")}
        required={false}
        hint={t`Words to filter the list of templates by, separated by commas, such as onboarding, spring.`}
      />
      <SelectField
        {...field("owner")}
        hint={t`The member who looks after the template.`}
        options={[
          ["", t`No owner`],
          ...members.map(({ email, name }) => [email, `${name} (${email})`] as const),
          ...hasLeft ? [[owner, t`${owner} (has left)`] as const] : [],
        ]}
      />
    </>
  )
}

/** Pointers of fields above the advanced fields. */
const basicFields = ["/tags", "/owner", "/name", "/objective", "", ...weights.map((name) => `/${name}`)]

/** The settings of a template. `isFolded` folds the settings that most templates do not change. */
export const SettingsFields = ({ basic, children, faults, fields, isFolded = false, members, variants = [] }: {
  readonly fields: Fields
  readonly faults: ReadonlyArray<Fault>
  readonly isFolded?: boolean
  /** The members of the organization, to choose an owner from. Without them, tags and owner are left out. */
  readonly members?: ReadonlyArray<Member>
  /** The variants of the template, to choose the one of a holdout from. */
  readonly variants?: Template["variants"]
  /** More fields above the advanced fields. */
  readonly basic?: ComponentChildren
  /** More advanced fields. */
  readonly children?: ComponentChildren
}) => {
  const domains = faults.filter(({ pointer }) => pointer.startsWith("/link_domains"))
  const field: FieldOf = (name, initial = "") => ({
    name,
    label: translated(settingsLabels[name]),
    value: fields[name] ?? initial,
    faults,
  })
  return (
    <>
      <Field {...field("name")} />
      <SelectField
        {...field("objective", "click")}
        hint={t`The outcome that Parlance improves.`}
        options={[
          ["click", t`Clicks`],
          ["open", t`Opens`],
          ["conversion", t`Conversions`],
          ["mix", t`A mix, weighted below`],
        ]}
      />
      <WeightFields field={field} />
      {members !== undefined && <Keeping field={field} members={members} />}
      {basic}
      <Advanced isOpen={!isFolded || faults.some(({ pointer }) => !basicFields.includes(pointer))}>
        {children}
        <LocaleSettings field={field} />
        <Field
          {...field("sticky_hours", "0")}
          type="number"
          hint={t`A person keeps the same variant for this many hours. 0: Parlance chooses for every message.`}
        />
        <Box
          {...field("send_nothing")}
          fields={fields}
          value="send_nothing"
          text={t`Send nothing where a message does more harm than good`}
          hint={t`Needs a mix with a negative weight below zero. Generate then returns no content and send_nothing:
            true for these people. Do not send your fallback content then.`}
        />
        <Field
          {...field("runner_up_floor", "10")}
          type="number"
          hint={t`While a leader is close to winning, the second-best variant gets at least this share, divided by the
            number of variants. More finds a winner sooner, and costs some clicks. 0: as Parlance chooses.`}
        />
        <SelectField
          {...field("holdout", "organization")}
          hint={t`Results compare people in the holdout with everyone else, to measure the lift.`}
          options={[
            ["organization", t`Organization default`],
            ["even", t`Own: random split of the variants`],
            ["fixed", t`Own: a fixed variant`],
            ["no_message", t`Own: no message`],
          ]}
        />
        <HoldoutFields field={field} variants={variants} />
        <SelectField
          {...field("tracking", "organization")}
          hint={t`Events that Parlance measures itself in e-mails sent with Deliver: opens with a pixel, clicks with
            redirected links.`}
          options={[
            ["organization", t`Organization default`],
            ["both", t`Opens and clicks`],
            ["clicks", t`Clicks`],
            ["opens", t`Opens`],
            ["none", t`Nothing`],
          ]}
        />
        <Box
          {...field("list_unsubscribe")}
          fields={fields}
          value="list_unsubscribe"
          text={t`Show an unsubscribe link next to the sender’s name`}
          hint={t`E-mails carry List-Unsubscribe and List-Unsubscribe-Post, so that mail programs show an unsubscribe
            link.`}
        />
        <Box
          {...field("strict")}
          fields={fields}
          value="strict"
          text={t`Fail if a field is missing`}
          hint={t`When off, missing fields are left blank.`}
        />
        <Box
          {...field("ignore_unsubscribes")}
          fields={fields}
          value="ignore"
          text={t`Also send to people who unsubscribed`}
          hint={t`For transactional messages such as receipts. People who complained and addresses that bounce still
            get nothing.`}
        />
        <LinkDomains domains={domains} value={field("link_domains").value} />
        <TextAreaField
          {...field("conversion_events")}
          required={false}
          rows={3}
          code
          hint={t`Events that count as conversions in addition to purchase and order_completed, one name per line,
            such as trial_started. They count for all templates of the organization.`}
        />
      </Advanced>
    </>
  )
}

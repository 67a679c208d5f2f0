/** @jsxImportSource preact */
import type { ComponentChildren } from "preact"
import type { Member } from "../../../accounts/Account.ts"
import type { Fault } from "../../../domain/Errors.ts"
import type { Template } from "../../../domain/Template.ts"
import { percentText, shareOf } from "../../FieldShare.ts"
import { Choices, Field, SelectField } from "../../components/Field.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import type { Fields } from "../../Routes.tsx"
import { Advanced } from "./EditorParts.tsx"

// The settings of a template as fields of a form, and back.

export const settingsLabels = {
  name: "Name",
  objective: "Goal",
  click: "Weight of a click",
  open: "Weight of an open",
  conversion: "Weight of a conversion",
  negative: "Weight of a negative signal",
  revenue: "Weight of revenue",
  revenue_cap: "Most revenue of a decision",
  sticky_hours: "Keep the same variant, hours",
  holdout: "Holdout",
  holdout_share: "Share held out (%)",
  holdout_copy_id: "Fixed variant",
  tracking: "Tracking",
  list_unsubscribe: "Unsubscribe header",
  strict: "Strictness",
  ignore_unsubscribes: "Unsubscribes",
  link_domains: "Link domains",
  conversion_events: "Names of conversions",
  tags: "Tags",
  owner: "Owner",
}

const weights = ["click", "open", "conversion", "negative", "revenue", "revenue_cap"] as const
const weightNames = {
  click: "Click",
  open: "Open",
  conversion: "Conversion",
  negative: "Negative",
  revenue: "Revenue",
  revenue_cap: "Revenue cap",
}

/** An empty text is no number, though JavaScript takes it for 0. */
const number = (text: string): unknown => text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text)

/** The holdout of the form, as the API takes it: null as the organization. */
const holdoutOf = (fields: Fields) => {
  if (fields["holdout"] === "organization") return null
  const copyId = (fields["holdout_copy_id"] ?? "").trim()
  return {
    share: shareOf(fields["holdout_share"] ?? ""),
    content: fields["holdout"],
    // Of another content it is not asked for.
    ...(fields["holdout"] === "fixed" && copyId !== "" ? { copy_id: copyId } : {}),
  }
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
export const settingsInput = (fields: Fields) => ({
  name: (fields["name"] ?? "").trim(),
  strict: "strict" in fields,
  ignore_unsubscribes: "ignore_unsubscribes" in fields,
  sticky_hours: number(fields["sticky_hours"] ?? ""),
  objective: fields["objective"] === "mix"
    ? Object.fromEntries(
      weights.filter((name) => (fields[name] ?? "").trim() !== "").map((name) => [name, number(fields[name]!)]),
    )
    : fields["objective"],
  ...(fields["holdout"] === undefined ? {} : { holdout: holdoutOf(fields) }),
  ...(fields["tracking"] === undefined ? {} : {
    tracking: trackingOf(fields["tracking"]),
    list_unsubscribe: "list_unsubscribe" in fields,
  }),
  link_domains: (fields["link_domains"] ?? "").split(/[\s,]+/).filter((domain) => domain !== ""),
  ...(fields["tags"] === undefined ? {} : {
    tags: fields["tags"].split(/[,\r\n]/).map((tag) => tag.trim()).filter((tag) => tag !== ""),
  }),
  ...(fields["owner"] === undefined ? {} : { owner: fields["owner"] === "" ? null : fields["owner"] }),
  ...(fields["conversion_events"] === undefined ? {} : {
    conversion_events: fields["conversion_events"].split(/\r?\n/).map((line) => line.trim()).filter((line) =>
      line !== ""
    ),
  }),
})

/** Faults at the controls of the form: those of a weight at the weight, of a part of the holdout at that part. */
export const settingsPointers = (faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults.map(({ detail, pointer }) => ({
    pointer: weights.some((weight) => pointer === `/objective/${weight}`) ? pointer.slice("/objective".length) : pointer
      .replace(/^\/holdout\/(share|copy_id)$/, "/holdout_$1").replace("/holdout/content", "/holdout")
      .replace(/^\/(conversion_events|tags)\/\d+$/, "/$1"),
    detail: pointer.startsWith("/tags/")
      ? `tag ${Number(pointer.split("/")[2]) + 1} ${detail}`
      : pointer.startsWith("/conversion_events/")
      ? `line ${Number(pointer.split("/")[2]) + 1} ${detail}`
      : pointer === "/holdout/share"
      ? "must be a number from 0 to 50"
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
    name,
    objective,
    owner,
    sticky_hours,
    strict,
    tags,
    tracking,
  } = template
  return {
    name,
    sticky_hours: String(sticky_hours),
    ...(strict ? { strict: "strict" } : {}),
    ...(ignore_unsubscribes ? { ignore_unsubscribes: "ignore" } : {}),
    tags: tags.join(", "),
    owner: owner ?? "",
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

const WeightFields = ({ faults, fields }: {
  readonly faults: ReadonlyArray<Fault>
  readonly fields: Fields
}) => (
  <fieldset class="quarters weights">
    <legend class="small muted">
      Weights of the mix; empty counts nothing, costs (unsubscribes, complaints) are below zero. Revenue is the value of
      conversions, for each decision up to the revenue cap
    </legend>
    {weights.map((name) => (
      <Field
        name={name}
        label={weightNames[name]}
        type="number"
        required={false}
        value={fields[name] ?? ""}
        faults={faults}
      />
    ))}
  </fieldset>
)

/** Variants to choose one from: those of the template, and the chosen one where it is none of them (any more). */
const variantOptions = (variants: Template["variants"], chosen: string) => [
  ["", "Choose a variant"] as const,
  ...variants.map(({ id, name }) => [id, name === id ? id : `${name} (${id})`] as const),
  ...chosen === "" || variants.some(({ id }) => id === chosen) ? [] : [[chosen, `${chosen} (not a variant)`] as const],
]

const HoldoutFields = ({ faults, fields, variants }: {
  readonly faults: ReadonlyArray<Fault>
  readonly fields: Fields
  readonly variants: Template["variants"]
}) => (
  <fieldset class="quarters">
    <legend class="small muted">Only for a holdout of its own</legend>
    <Field
      name="holdout_share"
      label={settingsLabels.holdout_share}
      type="number"
      required={false}
      value={fields["holdout_share"] ?? ""}
      faults={faults}
      hint="From 0 (no holdout) to 50 %."
    />
    <SelectField
      name="holdout_copy_id"
      label={settingsLabels.holdout_copy_id}
      value={fields["holdout_copy_id"] ?? ""}
      faults={faults}
      hint={variants.length === 0
        ? "Add variants first, then choose one in the settings."
        : "What everyone in the holdout gets."}
      options={variantOptions(variants, fields["holdout_copy_id"] ?? "")}
    />
  </fieldset>
)

const UnsubscribeChoice = ({ faults, fields }: {
  readonly faults: ReadonlyArray<Fault>
  readonly fields: Fields
}) => (
  <Choices
    name="list_unsubscribe"
    label={settingsLabels.list_unsubscribe}
    type="checkbox"
    values={"list_unsubscribe" in fields ? ["list_unsubscribe"] : []}
    faults={faults}
    options={[[
      "list_unsubscribe",
      "Offer to unsubscribe beside the sender",
      "E-mails carry List-Unsubscribe and List-Unsubscribe-Post, so that mail programs show an unsubscribe link.",
    ]]}
  />
)

const StrictChoice = ({ faults, fields }: {
  readonly faults: ReadonlyArray<Fault>
  readonly fields: Fields
}) => (
  <Choices
    name="strict"
    label={settingsLabels.strict}
    type="checkbox"
    values={"strict" in fields ? ["strict"] : []}
    faults={faults}
    options={[[
      "strict",
      "Fail if a field is missing",
      "When off, missing fields are left blank.",
    ]]}
  />
)

const TransactionalChoice = ({ faults, fields }: {
  readonly faults: ReadonlyArray<Fault>
  readonly fields: Fields
}) => (
  <Choices
    name="ignore_unsubscribes"
    label={settingsLabels.ignore_unsubscribes}
    type="checkbox"
    values={"ignore_unsubscribes" in fields ? ["ignore"] : []}
    faults={faults}
    options={[[
      "ignore",
      "Also send to people who unsubscribed",
      "For transactional messages such as receipts. People who complained and addresses that bounce still get nothing.",
    ]]}
  />
)

const LinkDomains = ({ domains, fields }: {
  readonly domains: ReadonlyArray<Fault>
  readonly fields: Fields
}) => (
  <div class="field">
    <label for="link_domains">{settingsLabels.link_domains}</label>
    <p class="hint" id="link_domains-hint">
      Links to these hosts and their subdomains carry the tracking id. One host per line, such as shop.example.
    </p>
    <textarea
      id="link_domains"
      name="link_domains"
      rows={3}
      spellcheck={false}
      aria-describedby={domains.length === 0 ? "link_domains-hint" : "link_domains-hint link_domains-error"}
      {...(domains.length === 0 ? {} : { "aria-invalid": "true" as const })}
    >
      {fields["link_domains"] ?? ""}
    </textarea>
    {domains.length === 0 ? null : (
      <p class="error" id="link_domains-error">
        {domains.map(({ detail, pointer }) => {
          const at = Number(pointer.split("/")[2] ?? "NaN")
          return Number.isNaN(at) ? detail : `Host ${at + 1} ${detail}`
        }).join("; ")}
      </p>
    )}
  </div>
)

/** The tags and the owner of a template. */
const Keeping = ({ faults, fields, members }: {
  readonly faults: ReadonlyArray<Fault>
  readonly fields: Fields
  readonly members: ReadonlyArray<Member>
}) => {
  const owner = fields["owner"] ?? ""
  const hasLeft = owner !== "" && !members.some(({ email }) => email === owner)
  return (
    <>
      <Field
        name="tags"
        label={settingsLabels.tags}
        required={false}
        value={fields["tags"] ?? ""}
        faults={faults}
        hint="Words to filter the list of templates by, separated by commas, such as onboarding, spring."
      />
      <SelectField
        name="owner"
        label={settingsLabels.owner}
        value={owner}
        faults={faults}
        hint="The member who looks after the template."
        options={[
          ["", "No owner"],
          ...members.map(({ email, name }) => [email, `${name} (${email})`] as const),
          ...hasLeft ? [[owner, `${owner} (has left)`] as const] : [],
        ]}
      />
    </>
  )
}

/** Fields that stand before the advanced ones. */
const basicFields = ["/tags", "/owner", "/name", "/objective", "", ...weights.map((name) => `/${name}`)]

/** The settings of a template. Those that most templates leave as they are can be folded away. */
export const SettingsFields = ({ children, faults, fields, isFolded = false, members, variants = [] }: {
  readonly fields: Fields
  readonly faults: ReadonlyArray<Fault>
  readonly isFolded?: boolean
  /** The members of the organization, to choose an owner from; without them, tags and owner are left out. */
  readonly members?: ReadonlyArray<Member>
  /** The variants of the template, to choose the one of a holdout from. */
  readonly variants?: Template["variants"]
  /** Further advanced fields. */
  readonly children?: ComponentChildren
}) => {
  const domains = faults.filter(({ pointer }) => pointer.startsWith("/link_domains"))
  return (
    <>
      <Field name="name" label={settingsLabels.name} value={fields["name"] ?? ""} faults={faults} />
      <SelectField
        name="objective"
        label={settingsLabels.objective}
        value={fields["objective"] ?? "click"}
        faults={faults}
        hint="The outcome that Parlance improves."
        options={[
          ["click", "Clicks"],
          ["open", "Opens"],
          ["conversion", "Conversions"],
          ["mix", "A mix, weighted below"],
        ]}
      />
      <WeightFields faults={faults} fields={fields} />
      {members === undefined ? null : <Keeping faults={faults} fields={fields} members={members} />}
      <Advanced isOpen={!isFolded || faults.some(({ pointer }) => !basicFields.includes(pointer))}>
        {children}
        <Field
          name="sticky_hours"
          label={settingsLabels.sticky_hours}
          type="number"
          value={fields["sticky_hours"] ?? "0"}
          faults={faults}
          hint="A person keeps the same variant for this many hours. 0: Parlance chooses for every message."
        />
        <SelectField
          name="holdout"
          label={settingsLabels.holdout}
          value={fields["holdout"] ?? "organization"}
          faults={faults}
          hint="Results compare people in the holdout with everyone else, to measure the lift."
          options={[
            ["organization", "Organization default"],
            ["even", "Own: random split of the variants"],
            ["fixed", "Own: a fixed variant"],
            ["no_message", "Own: no message"],
          ]}
        />
        <HoldoutFields faults={faults} fields={fields} variants={variants} />
        <SelectField
          name="tracking"
          label={settingsLabels.tracking}
          value={fields["tracking"] ?? "organization"}
          faults={faults}
          hint="Events that Parlance measures itself in e-mails sent with Deliver: opens with a pixel, clicks with redirected links."
          options={[
            ["organization", "Organization default"],
            ["both", "Opens and clicks"],
            ["clicks", "Clicks"],
            ["opens", "Opens"],
            ["none", "Nothing"],
          ]}
        />
        <UnsubscribeChoice faults={faults} fields={fields} />
        <StrictChoice faults={faults} fields={fields} />
        <TransactionalChoice faults={faults} fields={fields} />
        <LinkDomains domains={domains} fields={fields} />
        <TextAreaField
          name="conversion_events"
          label={settingsLabels.conversion_events}
          required={false}
          rows={3}
          code
          value={fields["conversion_events"] ?? ""}
          faults={faults}
          hint="Events that count as conversions besides purchase and order_completed, one name per line, such as trial_started. They count for all templates of the organization."
        />
      </Advanced>
    </>
  )
}

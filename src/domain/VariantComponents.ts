import { Schema } from "effect"
import { isStorable } from "./Attributes.ts"

const isComponentValue = (text: string) => text.length <= 100 && /^\S(.*\S)?$/u.test(text) && isStorable(text)

const wellMade = Schema.makeFilter<Readonly<Record<string, string>>>((components) =>
  Object.entries(components).flatMap(([kind, value]) => [
    ...(/^[A-Za-z][A-Za-z0-9_.-]{0,49}$/.test(kind) ? [] : [{
      path: [kind],
      issue: "must be a kind of 1 to 50 letters, digits, dots, hyphens and underscores that begins with a letter",
    }]),
    ...(isComponentValue(value) ? [] : [{
      path: [kind],
      issue: "must be 1 to 100 characters of well-formed Unicode on one line, without white space around them",
    }]),
  ])
)

/**
 * Components of a variant: values by kind, such as `{subject: "question", image: "shoe"}`, at most 10. Variants with a
 * value in common are learned about together.
 */
export const Components = Schema.Record(Schema.String, Schema.String).check(wellMade, Schema.isMaxProperties(10))
export type Components = typeof Components.Type

// The part of MJML that the service uses, which scripts/writeMjml.ts bundles.
import core from "mjml-core"
import { components, dependencies } from "mjml-preset-core"

const presets = [{ components, dependencies }]

/** Compiles a source without includes, configuration files, minification and formatting. */
export const render = (source) => core.default(source, { presets })

/** Elements whose content is kept as it is, such as `mj-text`. */
export const endingTags = components.filter(({ endingTag }) => endingTag).map((one) => one.getTagName())

/** Elements that may contain `mj-raw`. */
export const rawParents = Object.keys(dependencies).filter((name) => dependencies[name].includes("mj-raw"))

/** Types of attributes by element, such as `unit(px,%)`. */
export const attributeTypes = Object.fromEntries(
  components.map((one) => [one.getTagName(), { ...one.allowedAttributes }]),
)

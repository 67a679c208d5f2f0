import description from "../../package.json" with { type: "json" }

/** The release this is, as `package.json` says. */
export const { version } = description

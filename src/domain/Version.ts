import description from "../../package.json" with { type: "json" }

/** The release of this service, from `package.json`. */
export const { version } = description

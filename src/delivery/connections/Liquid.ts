/**
 * A text that a platform's own Liquid renders as it stands. Our messages are already rendered, and text that a person typed into a
 * profile must not run as a template there.
 */
export const literal = (text: string): string => text.replace(/\{[{%]/g, (opening) => `{{"${opening}"}}`)

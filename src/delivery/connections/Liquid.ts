/**
 * A text that a platform's own Liquid renders as it stands. What we send is rendered already, and what a person typed into a
 * profile must not run as a template there.
 */
export const literal = (text: string): string => text.replace(/\{[{%]/g, (opening) => `{{"${opening}"}}`)

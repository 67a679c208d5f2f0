/**
 * Escapes a text so that a platform's own Liquid renders it unchanged. Our messages are already rendered, and text that
 * a person typed into a profile must not run as a template on the platform.
 */
export const literal = (text: string): string => text.replace(/\{[{%]/g, (opening) => `{{"${opening}"}}`)

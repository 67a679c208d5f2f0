import type { Schema } from "effect"

/** The same schema, with words on it for the document of the API. */
export const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })

import type { Schema } from "effect"

/** Adds a description for the OpenAPI document to a schema. */
export const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })

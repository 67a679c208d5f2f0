/** The value of a member, or its fault and the expected form, such as `is no number: send …`. */
export type ReadValue<A> = { readonly value: A } | { readonly wrong: string }

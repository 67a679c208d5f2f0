// The template and the person of the benchmarks of Generate. A separate file, so that load generators load no module of
// the service.

/** Fields and attributes of a request. */
export const person = {
  fields: { name: "Ann", city: "Oslo", product: "boots" },
  attrs: { tier: "gold", country: "NO" },
}

/** Returns a template with 5 variants, each with three Liquid variables. If `isTargeted`, three variants have targeting. */
export const offer = (id: string, isTargeted = true) => ({
  id,
  name: id,
  variants: Array.from({ length: 5 }, (_, i) => ({
    id: `v${i}`,
    vars: {
      subject: `Hi {{ name }}, offer ${i} for you`,
      preheader: "Only in {{ city | upcase }} today",
      body: "Dear {{ name | default: 'friend' }}, we picked {{ product }} for you.",
    },
    ...(isTargeted && i % 2 === 0 ? { targeting: [{ attribute: "tier", op: "in", values: ["gold", "silver"] }] } : {}),
  })),
})

// RFC 9457 problems: the only errors this service answers with. Each `type` is a stable path, served as a page.

export { type ProblemPage, problemPages } from "./problems/ProblemPage.ts"
export * from "./problems/RequestProblems.ts"
export * from "./problems/TemplateProblems.ts"
export * from "./problems/OrganizationProblems.ts"
export * from "./problems/DeliveryProblems.ts"

// RFC 9457 problems, the only form of error responses. Each `type` is a stable path of a page that explains the
// problem.

export { type ProblemPage, problemPages } from "./problems/ProblemPage.ts"
export * from "./problems/RequestProblems.ts"
export * from "./problems/TemplateProblems.ts"
export * from "./problems/OrganizationProblems.ts"
export * from "./problems/DeliveryProblems.ts"

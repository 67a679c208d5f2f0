// Computes which limit 1, 10 and 100 database servers reach first if one organization has half of the traffic, and which
// setting helps: deno task bench servers
import { growth } from "./simulation/Servers.ts"

console.log("| servers | first limit | decisions a second, peak | what helps |")
console.log("| ---: | --- | ---: | --- |")
for (const servers of [1, 10, 100]) {
  for (const { limit, rate, remedy } of growth(servers)) {
    const rounded = Number(rate.toPrecision(2)).toLocaleString("en-US")
    console.log(`| ${servers} | ${limit} | ${rounded} | ${remedy ?? "no setting"} |`)
  }
}

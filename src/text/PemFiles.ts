import { createPrivateKey, X509Certificate } from "node:crypto"

// Certificates and keys of settings, in files or as text.

/** Reads a file as text. Throws the error of the file system. */
export type ReadPem = (path: string) => string

const reasonOf = (error: unknown, variable: string): string => {
  if (error instanceof Error && error.name === "NotCapable") {
    return "the service has no permission to read it. In the container image, mount it below /run/secrets or set " +
      `${variable} to its content`
  }
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "ENOENT") return "there is no such file"
  if (code === "EACCES") return "this user may not read it"
  return error instanceof Error ? error.message : String(error)
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** The fault of the certificates in `pem`. Undefined for valid certificates. */
export const faultOfCertificates = (pem: string): string | undefined => {
  const found = pem.match(certificates) ?? []
  if (found.length === 0) return "holds no certificate. A certificate begins with -----BEGIN CERTIFICATE-----"
  try {
    for (const one of found) new X509Certificate(one)
  } catch {
    return "holds a certificate that cannot be read"
  }
}

/** The fault of a private key. Undefined for a valid key. */
export const faultOfKey = (pem: string): string | undefined => {
  try {
    createPrivateKey(pem)
  } catch {
    return "holds no private key that can be read without a password"
  }
}

/** Reads files, and adds faults to `faults`. `variable`: the setting that accepts the content of a certificate. */
export const makeFiles = (readFile: ReadPem, faults: Array<string>, variable: string) => ({
  read: (setting: string, path: string, check: (pem: string) => string | undefined): string => {
    try {
      const pem = readFile(path)
      const fault = check(pem)
      if (fault !== undefined) faults.push(`${setting}: the file ${path} ${fault}`)
      return pem
    } catch (error) {
      faults.push(`${setting}: the file ${path} cannot be read: ${reasonOf(error, variable)}`)
      return ""
    }
  },
})

const isPem = (text: string): boolean => text.includes("-----BEGIN")

/** Certificates of authorities, given as PEM or as the path of a file in the setting `variable`. */
export const authoritiesOf = (
  variable: string,
  text: string,
  readFile: ReadPem,
  faults: Array<string>,
): string => {
  if (!isPem(text)) return makeFiles(readFile, faults, variable).read(variable, text, faultOfCertificates)
  // A value in a file of environment variables is one line, with a backslash and `n` for each line break.
  const pem = text.replaceAll("\\n", "\n")
  const fault = faultOfCertificates(pem)
  if (fault !== undefined) faults.push(`${variable}: ${fault}`)
  return pem
}

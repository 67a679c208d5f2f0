import qrcode from "qrcode-generator"

/** Empty modules around the code, which readers need to find it. */
const quietModules = 4

/** A text as a QR code, dark on white in either theme. */
export const QrCode = ({ label, text }: { readonly label: string; readonly text: string }) => {
  // The smallest version that holds the text, with 15 % of it recoverable.
  const code = qrcode(0, "M")
  code.addData(text)
  code.make()
  const modules = code.getModuleCount()
  const size = modules + 2 * quietModules
  const path: Array<string> = []
  for (let row = 0; row < modules; row++) {
    for (let column = 0; column < modules; column++) {
      if (code.isDark(row, column)) path.push(`M${column + quietModules} ${row + quietModules}h1v1h-1z`)
    }
  }
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path.join("")} fill="#000" />
    </svg>
  )
}

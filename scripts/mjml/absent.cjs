// Replaces packages of MJML for files, minification and formatting. `detect-node` is among them: without Node, MJML
// reads no files.
module.exports = false

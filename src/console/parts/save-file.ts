// Saves a file that the page has made, as a download of the browser.

/** Time for the browser to begin reading the file, in milliseconds. */
const READ_MS = 1_000

export function saveFile(name: string, text: string, type: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), READ_MS)
}

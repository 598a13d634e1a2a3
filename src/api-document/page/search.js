// Runs in the browser, in the reference: shows the rows and sentences that have all words of the search, under their headings.
// It must request nothing, and keeps the search in the address, so that it can be sent to others.
{
  const field = document.querySelector('input')
  const count = document.querySelector('output')
  const found = (text, words) => words.filter((word) => text.includes(word)).length

  /** Rows and sentences, with the headings above them: of their part and of their page. */
  const items = []
  const blocks = []
  for (const section of document.querySelectorAll('main > section')) {
    const page = { element: section, isShown: false }
    let part = { element: section.querySelector('h2'), isShown: false, page }
    blocks.push(page, part)
    for (const block of section.children) {
      if (/^H\d$/.test(block.tagName)) {
        part = { element: block, isShown: false, page }
        blocks.push(part)
        continue
      }
      const list = { element: block, isShown: false, page }
      blocks.push(list)
      const rows = block.querySelectorAll('tbody tr, li')
      for (const element of rows.length === 0 ? [block] : rows) {
        const heading = part.element.textContent.toLowerCase()
        const text = element.textContent.trim().toLowerCase()
        items.push({ element, heading, text, whole: `${heading}.${text}`, over: [page, part, list] })
      }
    }
  }

  const search = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
    for (const block of blocks) block.isShown = words.length === 0
    let shown = 0
    for (const { element, heading, text, whole, over } of items) {
      // A setting is also found by its full name, as `log.level`. Words of the heading alone do not find all below it.
      const isAbout = words.some((word) => text.includes(word) || !heading.includes(word))
      const isShown = words.length === 0 || (found(whole, words) === words.length && isAbout)
      element.hidden = !isShown
      if (!isShown) continue
      shown++
      for (const block of over) block.isShown = true
    }
    for (const { element, isShown } of blocks) element.hidden = !isShown
    count.textContent = words.length === 0 ? '' : shown === 1 ? '1 match' : `${shown} matches`
    const url = new URL(location.href)
    if (words.length === 0) url.searchParams.delete('q')
    else url.searchParams.set('q', field.value)
    history.replaceState(null, '', url)
  }

  field.value = new URL(location.href).searchParams.get('q') ?? ''
  field.addEventListener('input', search)
  search()
}

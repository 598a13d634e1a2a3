// A block of code with colours, which appear once their module is loaded, and a button that copies it.

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Scroller } from '../parts/code'
import { Copy } from '../parts/form'
import { keyTexts } from '../texts'

/** Maximum length of code that is coloured, in characters: longer code would block the page. */
const MAX_COLOURED = 40_000

type Colour = (language: string, text: string) => ComponentChildren
let colour: Colour | undefined

export function CodeBlock({ language, text }: { language: string; text: string }) {
  const [, setLoaded] = useState(colour !== undefined)
  useEffect(() => {
    if (colour) return
    let isGone = false
    import('./colours').then(
      (loaded) => {
        colour = loaded.coloured
        if (!isGone) setLoaded(true)
      },
      // Without colours it is still the code.
      () => {},
    )
    return () => {
      isGone = true
    }
  }, [])
  const [name = ''] = language.split(/\s/)
  return (
    <figure class="snippet">
      <figcaption>
        <span>{name || keyTexts.playground.codeBlock}</span>
        <Copy text={text} />
      </figcaption>
      <Scroller class="code" label={name || keyTexts.playground.codeBlock}>
        <pre>{text.length > MAX_COLOURED ? text : (colour?.(name, text) ?? text)}</pre>
      </Scroller>
    </figure>
  )
}

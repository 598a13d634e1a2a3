// Colours of code in a few languages, as a tree of elements. Loaded with the first block of code.

import bash from 'highlight.js/lib/languages/bash'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import { createLowlight } from 'lowlight'
import type { ComponentChildren } from 'preact'

const lowlight = createLowlight({ bash, json, python, sql, typescript, xml })
lowlight.registerAlias({ bash: ['curl', 'console'], typescript: ['javascript', 'js', 'jsx'] })

type Node = ReturnType<typeof lowlight.highlight>['children'][number]

/** Code in the colours of its language; plain for an unknown language. */
export function coloured(language: string, text: string): ComponentChildren {
  const name = language.toLowerCase()
  return lowlight.registered(name) ? lowlight.highlight(name, text).children.map(elementOf) : text
}

function elementOf(node: Node, index: number): ComponentChildren {
  if (node.type === 'text') return node.value
  if (node.type !== 'element') return null
  const names = node.properties.className
  return (
    <span class={Array.isArray(names) ? names.join(' ') : undefined} key={index}>
      {node.children.map(elementOf)}
    </span>
  )
}

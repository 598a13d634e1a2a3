// A text of code or settings in a frame of its own, which scrolls by keyboard too. It is not a landmark: a page may have many of
// one name.

export function Code({ label, text }: { label: string; text: string }) {
  return (
    <figure class="code" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </figure>
  )
}

// A block of code or settings in its own frame, which can also be scrolled by keyboard. It is not a landmark: a page may have many
// with the same name.

export function Code({ label, text }: { label: string; text: string }) {
  return (
    <figure class="code" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </figure>
  )
}

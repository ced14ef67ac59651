"""The screens, a folder for each page. Imports run one way: `home` knows all pages, pages know `base` and `services`,
and no page imports a page above it; a page asks for another screen by a message of `base.navigation`."""

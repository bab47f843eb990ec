"""A repository of links to files that are already installed on this machine: no network."""

def _impl(ctx):
    for link, target in ctx.attr.links.items():
        path = ctx.path(target)
        if not path.exists:
            fail("@%s needs %s, which is not there; next: apt-get install %s" % (ctx.name, target, ctx.attr.package))
        ctx.symlink(path, link)
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

system_repository = repository_rule(
    implementation = _impl,
    local = True,
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "links": attr.string_dict(mandatory = True, doc = "path in the repository: absolute path"),
        "package": attr.string(mandatory = True, doc = "the Debian package(s) that hold the files"),
    },
)

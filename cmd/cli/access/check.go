package access

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/server/access/policy"
)

func checkCommand(p process.Process) *cobra.Command {
	var file, who, action, model, version string
	return subcommand(p, &cobra.Command{
		Use: "check --access-policy FILE [--who PRINCIPAL]", Short: "Check the rules of who may do what",
		Long: `Check a file of rules and print its mistakes with their lines. With --who, also
print what that principal may do, or, with --action, whether it may do that. The
exit code is 1 for mistakes, and for an action that is denied.`,
		Example: "  triton access check --access-policy policy.yaml\n  triton access check --access-policy policy.yaml --who key:alice --action infer --model resnet50",
	}, 0, func(f *flags.Set) {
		f.StringVar(&file, "access-policy", "", "file of rules, as for serve; required")
		f.StringVar(&who, "who", "", "a principal with its further names after commas, such as key:alice or jwt:ci,jwt-group:build")
		f.StringVar(&action, "action", "", "an action, such as infer")
		f.StringVarP(&model, "model", "m", "", "a model")
		f.StringVar(&version, "model-version", "", "a version of the model")
	}, func([]string) error {
		if file == "" {
			return process.UsageError("--access-policy is missing: the file of rules")
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return failure("access policy: %w", err)
		}
		rules, err := policy.Parse(text)
		if err != nil {
			return failure("%s: %w", file, err)
		}
		if who == "" {
			fmt.Fprintln(p.Stdout, "ok")
			return nil
		}
		names := strings.Split(who, ",")
		principal := policy.NewPrincipal(names[0], names[1:]...)
		if action == "" {
			for _, a := range policy.AllActions() {
				fmt.Fprintf(p.Stdout, "%-14s %s\n", a, extent(rules, principal, a, model, version))
			}
			return nil
		}
		a, known := policy.ParseAction(action)
		switch {
		case !known:
			return process.UsageError("--action: unknown action %q: known are %v", action, policy.AllActions())
		case !rules.Allows(principal, a, model, version):
			return failure("%s may not %s %s", who, a, model)
		}
		fmt.Fprintln(p.Stdout, "allowed")
		return nil
	})
}

// extent says how far a right goes.
func extent(rules *policy.Policy, who *policy.Principal, a policy.Action, model, version string) string {
	switch {
	case rules.AllowsAll(who, a):
		return "yes"
	case !rules.Allows(who, a, model, version):
		return "no"
	case model == "" && a.OfModel():
		return "some models"
	}
	return "yes"
}

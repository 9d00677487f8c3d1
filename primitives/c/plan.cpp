// Plans of the C interface.
#include "primitives/c/options.h"

using namespace convlens;
using namespace convlens::c;

convlens_status convlens_plan_create(convlens_context* context, const convlens_problem* problem,
                                     const convlens_plan_options* options, convlens_plan** plan) {
    return guarded([&] {
        const Result<convlens_plan> result(plan);
        Context& on = object(context).context;
        const Problem& wanted = object(problem);
        result.set(std::make_unique<PlanObject>(make_plan(on, wanted, to_plan_options(options))));
    });
}

convlens_status convlens_plan_destroy(convlens_plan* plan) { return destroy(plan); }

convlens_status convlens_plan_get_info(const convlens_plan* plan, convlens_plan_info* info) {
    return guarded([&] {
        const PlanInfo& known = object(plan)->info();
        convlens_plan_info values = convlens_plan_info_default();
        values.operation = known.operation.c_str();
        values.algorithm = known.algorithm.c_str();
        values.error_class = static_cast<convlens_error_class>(known.error_class);
        values.deterministic = known.deterministic ? 1 : 0;
        values.workspace_bytes = known.workspace_bytes;
        values.packed_bytes = known.packed_bytes;
        values.weights_bytes = known.weights_bytes;
        values.flops = known.work.flops;
        values.executed_flops = known.work.executed_flops;
        values.bytes = known.work.bytes;
        write_struct(info, values, "info");
    });
}

convlens_status convlens_plan_pack_weights(const convlens_plan* plan, convlens_context* context,
                                           const void* weights, void* packed) {
    return guarded([&] {
        const Plan& of = *object(plan);
        if (context == nullptr) return of.pack_weights(weights, packed);
        pack_weights(object(context).context, of, weights, packed);
    });
}

convlens_status convlens_plan_execute(const convlens_plan* plan, convlens_context* context,
                                      const convlens_arguments* arguments) {
    return guarded([&] {
        const Plan& of = *object(plan);
        Context& on = object(context).context;
        const convlens_arguments given = read_struct(arguments, convlens_arguments_default(), "arguments");
        if (given.source_count > 0) need(static_cast<const void*>(given.sources), "sources");
        of.execute(on, {.sources = {given.sources, given.source_count},
                        .weights = given.weights,
                        .dst = given.dst,
                        .workspace = given.workspace,
                        .workspace_bytes = given.workspace_bytes});
    });
}
